// SPDX-License-Identifier: Apache-2.0
// climb/device_clock.hpp: the clock on a GPU: events around calls in a stream, and calls that are launched as one
// graph.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "climb/clock.hpp"
#include "cuda/check.hpp"
#include "cuda/events.hpp"

namespace upsweep::gpu {

inline constexpr int kGraphCalls = 64;

/// Measures by two events around the work in a stream.
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

/// Seconds per call of many calls that are launched as one graph.
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
