// SPDX-License-Identifier: Apache-2.0
// climb/device_trials.cpp: calls a guest on a GPU with arrays between guard zones: aligned, misaligned, and behind work
// that holds up its stream.
#include "climb/device_trials.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

#include "climb/place.hpp"
#include "cuda/check.hpp"
#include "cuda/device_call.hpp"
#include "cuda/events.hpp"
#include "system/memory.hpp"

namespace upsweep::gpu {
namespace {

using std::chrono::steady_clock;

constexpr const char* kItsWork = "its work on the GPU fails";

// A tile that ends past its array, or an index that is wrong by a block, writes into a zone of this size.
constexpr std::int64_t kGuardBytes = 64 << 10;
constexpr std::int64_t kFetchedBytes = 16 << 20;  // at a time, of an input that is compared
constexpr int kLargeRuns = 3;                     // a race may be correct at times

// Lengths with several thread blocks, whose calls are repeated behind other work.
constexpr std::int64_t kHeldUpLengths[] = {1025, 65'537, 300'007};
// A guest that waits for its stream waits this long. The time does not affect the outcome for such a guest.
constexpr std::chrono::milliseconds kMostHeldUp{200};
// In this time, work that does not wait for the stream ends.
constexpr std::chrono::milliseconds kSettles{10};

enum class Placement : std::uint8_t { aligned, misaligned, outputs_misaligned };
constexpr std::pair<Placement, const char*> kPlacements[] = {
    {Placement::aligned, "with aligned arrays"},
    {Placement::misaligned, "with misaligned arrays"},
    {Placement::outputs_misaligned, "with a misaligned output"}};

/// The number of elements between an aligned address and the beginning of array `i`. They are odd and differ, so that
/// no two arrays are aligned alike.
std::int64_t shift_of(Placement placement, std::size_t i, bool is_output) {
  if (placement == Placement::misaligned) return 2 * static_cast<std::int64_t>(i) + 1;
  return placement == Placement::outputs_misaligned && is_output ? 1 : 0;
}

void wait_for(cudaStream_t stream) { require(cudaStreamSynchronize(stream), kItsWork); }

void fetch_bytes(void* to, const std::byte* from, std::int64_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;
  require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream), kItsWork);
  wait_for(stream);
}

// --------------------------------------------------------------------------------------------------------- its arrays

/// A copy of an array in device memory, between two zones that must not be written.
class GuardedArray {
 public:
  GuardedArray(const HostArray& array, const GuestArray& described, std::int64_t element_bytes, std::int64_t shift)
      : array_(array),
        name_(described.name),
        element_bytes_(element_bytes),
        before_(kGuardBytes + shift * element_bytes),
        memory_(before_ + array.bytes + kGuardBytes) {}

  [[nodiscard]] bool is_output() const { return array_.is_output; }
  [[nodiscard]] std::byte* data() const { return begin() + before_; }
  [[nodiscard]] const HostArray& original() const { return array_; }

  /// Overwrites both zones and the array, in the stream.
  void poison(cudaStream_t stream) const {
    const auto bytes = static_cast<std::size_t>(before_ + array_.bytes + kGuardBytes);
    require(cudaMemsetAsync(begin(), kPoison, bytes, stream), "clearing an array");
  }
  /// Copies the array's elements from host or device memory, in the stream.
  void copy_from(const void* from, cudaMemcpyKind kind, cudaStream_t stream) const {
    if (array_.bytes == 0) return;
    require(cudaMemcpyAsync(data(), from, static_cast<std::size_t>(array_.bytes), kind, stream), "copying an array");
  }

  /// Returns "", or what the guest should not have written. Copies outputs back, after the stream's work.
  [[nodiscard]] std::string take_back(cudaStream_t stream) const {
    if (const auto at = first_written(begin(), before_, stream); at != kNoIndex) {
      return written("before the beginning of", (at - before_ - element_bytes_ + 1) / element_bytes_);
    }
    if (const auto at = first_written(data() + array_.bytes, kGuardBytes, stream); at != kNoIndex) {
      return written("past the end of", (array_.bytes + at) / element_bytes_);
    }
    if (array_.is_output) {
      fetch_bytes(array_.data, data(), array_.bytes, stream);
      return "";
    }
    return is_unchanged(stream) ? "" : "writes into its input `" + std::string(name_) + "`";
  }

 private:
  [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(memory_.get()); }
  [[nodiscard]] std::string written(const std::string& where, std::int64_t index) const {
    return "writes " + where + " `" + std::string(name_) + "`, at index " + std::to_string(index);
  }
  static std::int64_t first_written(const std::byte* zone, std::int64_t bytes, cudaStream_t stream) {
    std::vector<std::byte> found(static_cast<std::size_t>(bytes));
    fetch_bytes(found.data(), zone, bytes, stream);
    const auto at = std::ranges::find_if(found, [](std::byte one) { return one != std::byte{kPoison}; });
    return at == found.end() ? kNoIndex : at - found.begin();
  }
  [[nodiscard]] bool is_unchanged(cudaStream_t stream) const {
    std::vector<std::byte> found(static_cast<std::size_t>(std::min(array_.bytes, kFetchedBytes)));
    for (std::int64_t at = 0; at < array_.bytes; at += kFetchedBytes) {
      const std::int64_t bytes = std::min(array_.bytes - at, kFetchedBytes);
      fetch_bytes(found.data(), data() + at, bytes, stream);
      const auto* const original = static_cast<const std::byte*>(array_.data) + at;
      if (std::memcmp(found.data(), original, static_cast<std::size_t>(bytes)) != 0) return false;
    }
    return true;
  }

  HostArray array_;
  std::string_view name_;
  std::int64_t element_bytes_;
  std::int64_t before_;  // the bytes of the first zone
  DeviceBytes memory_;
};

/// The arrays of an instance, and their addresses in the order of Instance::arrays().
struct GuardedArrays {
  std::vector<std::unique_ptr<GuardedArray>> guarded = {};
  std::vector<void*> at = {};
};

// ---------------------------------------------------------------------------------------------------------- the calls

class DeviceTrials final : public TrialPlace, private CurrentDevice {
 public:
  DeviceTrials(const Guest& guest, const ClimbRequest& request, int device)
      : CurrentDevice(device), guest_(guest), request_(request) {}

  std::vector<Trial> small_trials(Instance& instance) override {
    std::vector<Trial> trials;
    const std::int64_t n = instance.group.n;
    for (const auto& [placement, how] : kPlacements) {
      for (int i = 0; i < (n > kLargeTrial ? kLargeRuns : 1); ++i) {
        trials.push_back({how, [this, &instance, placement = placement] { return wrong_alone(instance, placement); }});
      }
    }
    if (std::ranges::find(kHeldUpLengths, n) != std::end(kHeldUpLengths)) {
      trials.push_back({"with earlier work in its stream", [this, &instance] { return wrong_held_up(instance); }});
    }
    return trials;
  }

  std::vector<Trial> timed_trials(Instance& instance) override {
    double bytes = 0;
    for (const HostArray& array : instance.arrays()) bytes += static_cast<double>(array.bytes);
    std::size_t unused = 0;
    std::size_t all = 0;
    require(cudaMemGetInfo(&unused, &all), "asking for the memory of the device");
    if (2 * bytes > std::min(static_cast<double>(unused), static_cast<double>(available_memory()))) return {};
    return {{"with aligned arrays", [this, &instance] {
               if (estimate(instance) > request_.max_seconds) return std::string();
               return wrong_alone(instance, Placement::aligned);
             }}};
  }

 private:
  [[nodiscard]] GuardedArrays arrays_of(Instance& instance, Placement placement) const {
    GuardedArrays arrays;
    const std::vector<HostArray> own = instance.arrays();
    const auto described = guest_.problem().arrays;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i < described.size()) {
        const std::int64_t bytes = described[i].bytes == 0 ? size_of(instance.group.type) : described[i].bytes;
        arrays.guarded.push_back(
            std::make_unique<GuardedArray>(own[i], described[i], bytes, shift_of(placement, i, own[i].is_output)));
      }
      arrays.at.push_back(i < described.size() ? arrays.guarded[i]->data() : own[i].data);
    }
    return arrays;
  }

  void send(const GuardedArrays& arrays) const {
    for (const auto& array : arrays.guarded) {
      array->poison(stream_.get());
      if (!array->is_output()) array->copy_from(array->original().data, cudaMemcpyHostToDevice, stream_.get());
    }
    require(cudaDeviceSynchronize(), "copying to the device");
  }

  void call(Instance& instance, const GuardedArrays& arrays, std::int64_t n) const {
    instance.run_guest(stream_.get(), arrays.at.data(), n);
  }

  [[nodiscard]] std::string wrong_in(Instance& instance, const GuardedArrays& arrays) const {
    for (const auto& array : arrays.guarded) {
      if (std::string reason = array->take_back(stream_.get()); !reason.empty()) return reason;
    }
    return instance.wrong(guest_.info());
  }

  /// Makes one call, before and after which the device waits.
  [[nodiscard]] std::string wrong_alone(Instance& instance, Placement placement) const {
    const GuardedArrays arrays = arrays_of(instance, placement);
    send(arrays);
    call(instance, arrays, instance.group.n);
    require(cudaDeviceSynchronize(), kItsWork);
    return wrong_in(instance, arrays);
  }

  /// Makes two calls while their stream is held up. Their inputs arrive, and their outputs are overwritten, in the
  /// stream. Work that is not in the stream reads zeros, or its results are lost.
  [[nodiscard]] std::string wrong_held_up(Instance& instance) {
    const GuardedArrays arrays = arrays_of(instance, Placement::aligned);
    std::vector<std::unique_ptr<DeviceBytes>> inputs;  // copies from host memory would wait
    send(arrays);
    for (const auto& array : arrays.guarded) {
      if (array->is_output()) continue;
      const auto bytes = static_cast<std::size_t>(array->original().bytes);
      inputs.push_back(std::make_unique<DeviceBytes>(array->original().bytes));
      require(cudaMemcpy(inputs.back()->get(), array->data(), bytes, cudaMemcpyDeviceToDevice), "copying an array");
      require(cudaMemset(array->data(), 0, bytes), "clearing an array");
    }
    require(cudaDeviceSynchronize(), "copying to the device");
    {
      const HeldUp held(stream_.get(), is_released_);
      auto input = inputs.begin();
      for (const auto& array : arrays.guarded) {
        array->poison(stream_.get());
        if (!array->is_output()) array->copy_from((*input++)->get(), cudaMemcpyDeviceToDevice, stream_.get());
      }
      call(instance, arrays, instance.group.n);
      for (const auto& array : arrays.guarded) {
        if (array->is_output()) array->poison(stream_.get());
      }
      call(instance, arrays, instance.group.n);
      std::this_thread::sleep_for(kSettles);
    }
    wait_for(stream_.get());
    const std::string reason = wrong_in(instance, arrays);
    require(cudaDeviceSynchronize(), kItsWork);
    return reason.empty() ? "" : "not all of its work is in the given stream: " + reason;
  }

  /// The estimated seconds of a call on the whole instance, measured by the second call on some of it.
  [[nodiscard]] double estimate(Instance& instance) const {
    if (instance.group.n <= kTimedTrial) return 0;
    const GuardedArrays arrays = arrays_of(instance, Placement::aligned);
    send(arrays);
    steady_clock::time_point begin;
    for (int i = 0; i < 2; ++i) {
      begin = steady_clock::now();
      call(instance, arrays, kTimedTrial);
      require(cudaDeviceSynchronize(), kItsWork);
    }
    const std::chrono::duration<double> taken = steady_clock::now() - begin;
    return taken.count() * static_cast<double>(instance.group.n) / static_cast<double>(kTimedTrial);
  }

  /// Holds up later work of a stream until the end of this object's lifetime, or for kMostHeldUp.
  class HeldUp {
   public:
    HeldUp(cudaStream_t stream, std::atomic<bool>& is_released) : stream_(stream), is_released_(is_released) {
      is_released_ = false;
      require(cudaLaunchHostFunc(stream, wait, &is_released), "holding up a stream");
    }
    ~HeldUp() {
      is_released_ = true;
      (void)cudaStreamSynchronize(stream_);  // the stream still reads it
    }
    HeldUp(const HeldUp&) = delete;
    HeldUp& operator=(const HeldUp&) = delete;

   private:
    static void CUDART_CB wait(void* released) {
      const auto& is_released = *static_cast<const std::atomic<bool>*>(released);
      const auto end = steady_clock::now() + kMostHeldUp;
      while (!is_released && steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    cudaStream_t stream_;
    std::atomic<bool>& is_released_;
  };

  const Guest& guest_;
  const ClimbRequest& request_;
  OwnStream stream_;
  std::atomic<bool> is_released_ = true;
};

}  // namespace

std::string runtime_error_text(int code) {
  const std::string text = cudaGetErrorString(static_cast<cudaError_t>(code));
  return text == "unrecognized error code" ? "" : text;
}

std::unique_ptr<TrialPlace> device_trials(const Guest& guest, const ClimbRequest& request) {
  const int device = first_usable_device();
  if (cudaSetDevice(device) == cudaErrorInitializationError) {
    throw Error(Code::no_device, "a custom rung on a GPU cannot be tried: this process used CUDA before");
  }
  return std::make_unique<DeviceTrials>(guest, request, device);
}

}  // namespace upsweep::gpu
