// SPDX-License-Identifier: Apache-2.0
// cuda/staging.cpp: staging by the CUDA runtime: one stream, two events, arrays that grow.
#include "cuda/staging.hpp"

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <vector>

#include "cuda/device_call.hpp"
#include "cuda/timing.hpp"

namespace upsweep::gpu {

struct Staging::State {
  struct Array {
    void* memory = nullptr;
    std::int64_t bytes = 0;
  };

  int device;
  MemoryResource& memory;
  std::optional<OwnStream> own_stream;  // it and the clock are made where the device is current
  std::optional<EventClock> clock;
  std::vector<Array> arrays;
  std::vector<Array> host_arrays;
  StagingTimes times;

  explicit State(const Policy& policy)
      : device(policy.device), memory(policy.memory != nullptr ? *policy.memory : pool()) {
    const CurrentDevice current(device);
    clock.emplace(own_stream.emplace().get());
  }
  ~State() {
    int before = 0;
    (void)cudaGetDevice(&before);
    restore_current(device);
    for (const Array& array : arrays) {
      if (array.memory != nullptr) memory.deallocate(array.memory, array.bytes, stream());
    }
    for (const Array& array : host_arrays) (void)cudaFreeHost(array.memory);
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

  void time(double& seconds, const std::function<void()>& work) {
    const CurrentDevice current(device);
    seconds += clock->seconds_of(work);
  }
  void copy(double& seconds, void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, const char* what) {
    time(seconds, [&] { require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream()), what); });
  }
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
    (void)cudaFreeHost(array.memory);
    array = {};
    if (cudaMallocHost(&array.memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
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
  state_->copy(state_->times.to_host, to, from, bytes, cudaMemcpyDeviceToHost, "copying from the device");
}

void Staging::compute(const std::function<void(const Policy&)>& run) {
  state_->time(state_->times.kernel, [&] {
    run(Policy{}.with_device(state_->device).with_stream(state_->stream()).with_memory(state_->memory));
  });
}

void Staging::fill(void* to, int byte, std::int64_t bytes) {
  require(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), state_->stream()), "filling an array");
}

const StagingTimes& Staging::times() const { return state_->times; }

}  // namespace upsweep::gpu
