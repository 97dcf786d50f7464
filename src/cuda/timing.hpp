// SPDX-License-Identifier: Apache-2.0
// cuda/timing.hpp: what is timed on a GPU with: device arrays, streams, events, graphs, pinned memory.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/clock.hpp"
#include "cuda/check.hpp"

namespace upsweep::gpu {

inline constexpr int kGraphCalls = 64;

class DeviceBytes : public Owned<void*, cudaFree> {
 public:
  explicit DeviceBytes(std::int64_t bytes) {
    require(cudaMalloc(&handle_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))), "allocating an array");
  }
};

class OwnStream : public Owned<cudaStream_t, cudaStreamDestroy> {
 public:
  OwnStream() { require(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "creating a stream"); }
};

class Event : public Owned<cudaEvent_t, cudaEventDestroy> {
 public:
  Event() { require(cudaEventCreate(&handle_), "creating an event"); }
  void record(cudaStream_t stream) { require(cudaEventRecord(handle_, stream), "timing"); }
  void wait() { require(cudaEventSynchronize(handle_), "waiting for the device"); }
  /// From another event to this one; both are over.
  [[nodiscard]] double seconds_since(const Event& begin) const {
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_), "timing");
    return static_cast<double>(milliseconds) * 1e-3;
  }
};

/// Two events around what is put into a stream.
class EventClock : public Clock {
 public:
  explicit EventClock(cudaStream_t stream) : stream_(stream) {}

  double seconds_of(const std::function<void()>& run) override {
    begin_.record(stream_);
    run();
    end_.record(stream_);
    end_.wait();
    return end_.seconds_since(begin_);
  }
  [[nodiscard]] double shortest_sample() const override { return 0; }
  [[nodiscard]] double launch_seconds() const override { return 50e-6; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
  Event begin_;
  Event end_;
};

/// Memory of the host that is pinned for as long as this lives.
class Pinned : public Owned<void*, cudaHostUnregister> {
 public:
  Pinned(const void* memory, std::int64_t bytes) {
    void* const here = const_cast<void*>(memory);
    require(cudaHostRegister(here, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)),
                             cudaHostRegisterPortable | cudaHostRegisterMapped),
            "pinning memory");
    handle_ = here;
  }
};

/// Seconds of one of many calls that are launched as one graph.
inline double seconds_in_graph(EventClock& clock, const std::function<void()>& run) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t calls = nullptr;
  require(cudaStreamBeginCapture(clock.stream(), cudaStreamCaptureModeThreadLocal), "capturing a graph");
  for (int i = 0; i < kGraphCalls; ++i) run();
  require(cudaStreamEndCapture(clock.stream(), &graph), "capturing a graph");
  require(cudaGraphInstantiate(&calls, graph, 0), "instantiating a graph");
  std::vector<Contender> launch{
      {.name = "", .run = [&] { require(cudaGraphLaunch(calls, clock.stream()), "launching a graph"); }}};
  time_in_turn(launch, clock, kBudget);
  require(cudaGraphExecDestroy(calls), "destroying a graph");
  require(cudaGraphDestroy(graph), "destroying a graph");
  return launch[0].median() / kGraphCalls;
}

}  // namespace upsweep::gpu
