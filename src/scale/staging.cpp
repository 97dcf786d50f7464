// SPDX-License-Identifier: Apache-2.0
// scale/staging.cpp: staging on the CUDA runtime: one stream, events around its operations, arrays that grow.
#include "scale/staging.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/capture.hpp"
#include "cuda/device_call.hpp"
#include "cuda/events.hpp"
#include "upsweep/detail/tuning/transfers.hpp"

namespace upsweep::gpu {
namespace {

constexpr const char* kFetching = "copying from the device";

/// Unused pinned memory. Pinning one megabyte takes a tenth of a millisecond or more and delays the device's other
/// calls.
class SparePinned {
 public:
  /// Returns memory of at least `bytes` bytes and less than twice that. Returns null if there is none.
  void* take(std::int64_t& bytes) {
    const std::lock_guard lock(changing_);
    const auto found = blocks_.lower_bound(bytes);
    if (found == blocks_.end() || found->first / 2 >= bytes) return nullptr;
    const auto [size, memory] = *found;
    bytes_ -= size;
    blocks_.erase(found);
    if (!is_pinned(memory)) return nullptr;
    bytes = size;
    return memory;
  }
  /// Returns false if enough memory is kept already.
  bool give(void* memory, std::int64_t bytes) {
    const std::lock_guard lock(changing_);
    if (bytes_ + bytes > kMostBytes) return false;
    blocks_.emplace(bytes, memory);
    bytes_ += bytes;
    return true;
  }

 private:
  static constexpr std::int64_t kMostBytes = tuning::kStaging.pinned_bytes;

  /// Returns false after cudaDeviceReset().
  static bool is_pinned(const void* memory) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess) return attributes.type == cudaMemoryTypeHost;
    forget_last_error();
    return false;
  }

  std::mutex changing_;
  std::multimap<std::int64_t, void*> blocks_;
  std::int64_t bytes_ = 0;
};

/// It lives until the process ends: once the driver is unloaded, nothing can be freed.
SparePinned& spare_pinned() {
  static SparePinned& all = *new SparePinned;
  return all;
}

void free_pinned(void* memory, std::int64_t bytes) {
  if (memory == nullptr || spare_pinned().give(memory, bytes)) return;
  const DuringCapture allowed;
  (void)cudaFreeHost(memory);
}

/// Starts all copies together. A separate copy begins 4 us after the previous one has ended, a copy within a batch
/// after 1 us (H200).
cudaError_t copy_all(std::span<const Staging::Copy> copies, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  if (copies.empty()) return cudaSuccess;  // a query without columns; a batch has at least one copy
  std::vector<void*> to;
  std::vector<const void*> from;
  std::vector<std::size_t> bytes;
  for (const Staging::Copy& copy : copies) {
    to.push_back(copy.to);
    from.push_back(copy.from);
    bytes.push_back(static_cast<std::size_t>(copy.bytes));
  }
  cudaMemcpyAttributes how{};
  how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;  // first copy that the attributes apply to
  return cudaMemcpyBatchAsync(to.data(), from.data(), bytes.data(), copies.size(), &how, &first, 1, stream);
#else
  for (const auto& [to, from, bytes] : copies) {
    const auto error = cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
#endif
}

}  // namespace

struct Staging::State {
  struct Array {
    void* memory = nullptr;
    std::int64_t bytes = 0;
  };
  /// Copies that have been started.
  struct Copies {
    Event begin;
    Event end;
    bool are_waited_for = true;
  };

  /// Events at the start and the end of the work that compute() enqueues, and at the end of the copy to the host.
  struct Marks {
    Event begin;
    Event computed;
    Event end;
  };

  int device;
  MemoryResource& memory;
  std::optional<OwnStream> own_stream;  // created, with the events, while the device is current
  std::optional<Marks> marks;
  std::optional<Copies> copies[kSlots];  // created when a slot is first used: a table on the device needs none
  std::vector<Array> arrays;
  std::vector<Array> host_arrays;
  StagingTimes times;

  explicit State(const Policy& policy)
      : device(policy.device), memory(policy.memory != nullptr ? *policy.memory : pool()) {
    const CurrentDevice current(device);
    own_stream.emplace();
    marks.emplace();
  }
  ~State() {
    int before = 0;
    (void)cudaGetDevice(&before);
    restore_current(device);
    for (const Array& array : arrays) {
      if (array.memory != nullptr) memory.deallocate(array.memory, array.bytes, stream());
    }
    for (const auto& slot : copies) {
      if (slot && !slot->are_waited_for) (void)cudaStreamSynchronize(stream());  // of a call that has failed
    }
    for (const Array& array : host_arrays) free_pinned(array.memory, array.bytes);
    restore_current(before);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static Array& at(std::vector<Array>& all, int which) {
    const auto index = static_cast<std::size_t>(which);
    if (index >= all.size()) all.resize(index + 1);
    return all[index];
  }

  [[nodiscard]] cudaStream_t stream() const { return own_stream->get(); }

  /// Calls start(), which enqueues work into the stream. The work has ended when this returns or throws, because it
  /// uses the caller's memory and code.
  template <class Start>
  void finish(const Start& start) {
    const CurrentDevice current(device);
    try {
      marks->begin.record(stream());
      start();
      marks->end.record(stream());
      marks->end.wait();
    } catch (...) {
      (void)cudaStreamSynchronize(stream());
      throw;
    }
  }
  void put_copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, const char* what) const {
    require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream()), what);
  }
  void copy(double& seconds, void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, const char* what) {
    finish([&] { put_copy(to, from, bytes, kind, what); });
    seconds += marks->end.seconds_since(marks->begin);
  }
  [[nodiscard]] Policy policy() const { return Policy{}.with_device(device).with_stream(stream()).with_memory(memory); }
};

Staging::Staging(const Policy& policy) : state_(std::make_unique<State>(policy)) {}
Staging::~Staging() = default;

void* Staging::array(int which, std::int64_t bytes) {
  State::Array& array = State::at(state_->arrays, which);
  if (bytes > array.bytes) {
    const CurrentDevice current(state_->device);
    if (array.memory != nullptr) state_->memory.deallocate(array.memory, array.bytes, state_->stream());
    array = {};
    array.memory = state_->memory.allocate(bytes, state_->stream());
    array.bytes = bytes;
  }
  return array.memory;
}

void* Staging::host_array(int which, std::int64_t bytes) {
  State::Array& array = State::at(state_->host_arrays, which);
  if (bytes > array.bytes) {
    const CurrentDevice current(state_->device);
    free_pinned(array.memory, array.bytes);
    array = {};
    array.memory = spare_pinned().take(bytes);
    const DuringCapture allowed;  // also allows captures in other threads
    if (array.memory == nullptr && cudaMallocHost(&array.memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
      forget_last_error();
      array = {};
      throw Error(Code::out_of_memory, "allocating " + std::to_string(bytes) + " pinned bytes");
    }
    array.bytes = bytes;
  }
  return array.memory;
}

void* Staging::upload(int which, const void* from, std::int64_t bytes) {
  void* const to = array(which, bytes);
  copy_in(to, from, bytes);
  return to;
}

void Staging::download(void* to, int which, std::int64_t bytes) { copy_out(to, array(which, bytes), bytes); }

void Staging::copy_in(void* to, const void* from, std::int64_t bytes) {
  state_->copy(state_->times.to_device, to, from, bytes, cudaMemcpyHostToDevice, "copying to the device");
}

void Staging::copy_out(void* to, const void* from, std::int64_t bytes) {
  state_->copy(state_->times.to_host, to, from, bytes, cudaMemcpyDeviceToHost, kFetching);
}

void Staging::start_copies(int slot, std::span<const Copy> copies) {
  wait(slot);
  const CurrentDevice current(state_->device);
  State::Copies& started = state_->copies[slot] ? *state_->copies[slot] : state_->copies[slot].emplace();
  started.begin.record(state_->stream());
  started.are_waited_for = false;
  require(copy_all(copies, state_->stream()), "copying to the device");
  started.end.record(state_->stream());
}

void Staging::wait(int slot) {
  if (!state_->copies[slot] || state_->copies[slot]->are_waited_for) return;
  State::Copies& started = *state_->copies[slot];
  const CurrentDevice current(state_->device);
  started.end.wait();
  started.are_waited_for = true;
  state_->times.to_device += started.end.seconds_since(started.begin);
}

void Staging::compute(const std::function<void(const Policy&)>& run) {
  State& state = *state_;
  state.finish([&] { run(state.policy()); });
  state.times.kernel += state.marks->end.seconds_since(state.marks->begin);
  for (int slot = 0; slot < kSlots; ++slot) wait(slot);  // the copies have ended already
}

void Staging::compute_and_fetch(const std::function<void(const Policy&)>& run, void* to, const void* from,
                                std::int64_t bytes) {
  State& state = *state_;
  state.finish([&] {
    run(state.policy());
    state.marks->computed.record(state.stream());
    state.put_copy(to, from, bytes, cudaMemcpyDeviceToHost, kFetching);
  });
  state.times.kernel += state.marks->computed.seconds_since(state.marks->begin);
  state.times.to_host += state.marks->end.seconds_since(state.marks->computed);
  for (int slot = 0; slot < kSlots; ++slot) wait(slot);  // the copies have ended already
}

void Staging::fill(void* to, int byte, std::int64_t bytes) {
  const CurrentDevice current(state_->device);
  require(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), state_->stream()), "filling an array");
}

int Staging::device() const { return state_->device; }

void Staging::copy(void* to, const void* from, std::int64_t bytes) {
  const CurrentDevice current(state_->device);
  require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, state_->stream()),
          "copying on the device");
}

const StagingTimes& Staging::times() const { return state_->times; }

}  // namespace upsweep::gpu
