// SPDX-License-Identifier: Apache-2.0
// cuda/staging.cpp: staging by the CUDA runtime: one stream, two events, arrays that grow.
#include "cuda/staging.hpp"

#include <cuda_runtime_api.h>

#include <vector>

#include "cuda/check.hpp"
#include "cuda/device_call.hpp"

namespace upsweep::gpu {

struct Staging::State {
  struct Array {
    void* memory = nullptr;
    std::int64_t bytes = 0;
  };

  CurrentDevice current{0};
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  std::vector<Array> arrays;
  StagingTimes times;

  State() {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
    require(cudaEventCreate(&begin), "creating an event");
    require(cudaEventCreate(&end), "creating an event");
  }
  ~State() {
    for (const Array& array : arrays) (void)cudaFree(array.memory);
    (void)cudaEventDestroy(end);
    (void)cudaEventDestroy(begin);
    (void)cudaStreamDestroy(stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <class Work>
  void time(double& seconds, Work work) {
    require(cudaEventRecord(begin, stream), "timing");
    work();
    require(cudaEventRecord(end, stream), "timing");
    require(cudaEventSynchronize(end), "waiting for the device");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin, end), "timing");
    seconds += static_cast<double>(milliseconds) * 1e-3;
  }
};

Staging::Staging() : state_(std::make_unique<State>()) {}
Staging::~Staging() = default;

void* Staging::array(int which, std::int64_t bytes) {
  const auto index = static_cast<std::size_t>(which);
  if (index >= state_->arrays.size()) state_->arrays.resize(index + 1);
  State::Array& array = state_->arrays[index];
  if (bytes > array.bytes) {
    (void)cudaFree(array.memory);
    array = {};
    require(cudaMalloc(&array.memory, static_cast<std::size_t>(bytes)), "allocating a chunk on the device");
    array.bytes = bytes;
  }
  return array.memory;
}

void* Staging::upload(int which, const void* from, std::int64_t bytes) {
  void* const to = array(which, bytes);
  state_->time(state_->times.to_device, [&] {
    require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, state_->stream),
            "copying to the device");
  });
  return to;
}

void Staging::download(void* to, int which, std::int64_t bytes) {
  const void* const from = array(which, bytes);
  state_->time(state_->times.to_host, [&] {
    require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, state_->stream),
            "copying from the device");
  });
}

void Staging::compute(const std::function<void(const Policy&)>& run) {
  state_->time(state_->times.kernel, [&] { run(Policy{}.with_stream(state_->stream)); });
}

const StagingTimes& Staging::times() const { return state_->times; }

}  // namespace upsweep::gpu
