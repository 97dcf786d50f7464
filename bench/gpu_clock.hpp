// SPDX-License-Identifier: Apache-2.0
// bench/gpu_clock.hpp: what every ladder on a GPU is timed with: device arrays that rotate, streams, events, graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "cuda/check.hpp"

namespace upsweep::bench {

inline constexpr int kRounds = 31;
// A rung is left out of further rounds once it has used so many seconds and has three samples.
inline constexpr double kBudget = 0.5;
inline constexpr std::size_t kMinSamples = 3;
// A rung is tried on so many elements first, so that one that would take minutes is not started at all.
inline constexpr std::int64_t kProbe = 1 << 15;
inline constexpr int kGraphCalls = 64;

class DeviceBytes {
 public:
  explicit DeviceBytes(std::int64_t bytes) {
    gpu::require(cudaMalloc(&memory_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))),
                 "allocating an array");
  }
  ~DeviceBytes() { (void)cudaFree(memory_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  [[nodiscard]] void* data() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

class Stream {
 public:
  Stream() { gpu::require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { gpu::require(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { gpu::require(cudaEventRecord(event_, stream), "timing"); }
  void wait() { gpu::require(cudaEventSynchronize(event_), "running a rung"); }
  /// From another event to this one; both are over.
  [[nodiscard]] double seconds_since(const Event& begin) const {
    float milliseconds = 0;
    gpu::require(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "timing");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Two events around what is put into a stream.
class EventClock {
 public:
  explicit EventClock(cudaStream_t stream) : stream_(stream) {}

  double seconds_of(const std::function<void()>& run) {
    begin_.record(stream_);
    run();
    end_.record(stream_);
    end_.wait();
    return end_.seconds_since(begin_);
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
  Event begin_;
  Event end_;
};

/// Memory of the host that is pinned for as long as this lives.
class Pinned {
 public:
  Pinned(const void* memory, std::int64_t bytes) : memory_(const_cast<void*>(memory)) {
    gpu::require(cudaHostRegister(memory_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)),
                                  cudaHostRegisterPortable | cudaHostRegisterMapped),
                 "pinning memory");
  }
  ~Pinned() { (void)cudaHostUnregister(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  void* memory_;
};

/// Arrays of given sizes, several times over where one set would stay in the device's cache from run to run. `touched`:
/// what a run reads and writes of a set, if that is not all of it.
class Rotation {
 public:
  Rotation(std::vector<std::int64_t> sizes, std::int64_t cache_bytes, std::int64_t touched = 0)
      : sizes_(std::move(sizes)) {
    std::int64_t bytes = 1 + touched;
    if (touched == 0) {
      for (const std::int64_t size : sizes_) bytes += size;
    }
    const std::int64_t sets = std::clamp<std::int64_t>(2 * cache_bytes / bytes + 1, 1, 32);
    for (std::int64_t i = 0; i < sets; ++i) {
      sets_.emplace_back();
      for (const std::int64_t size : sizes_) sets_.back().push_back(std::make_unique<DeviceBytes>(size));
    }
  }
  void next() { turn_ = (turn_ + 1) % sets_.size(); }
  template <class T>
  [[nodiscard]] T* array(std::size_t which) const {
    return static_cast<T*>(sets_[turn_][which]->data());
  }
  /// Into every set.
  void fill(std::size_t which, const void* values, std::int64_t bytes) {
    for (const auto& set : sets_) {
      gpu::require(cudaMemcpy(set[which]->data(), values, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice),
                   "copying to the device");
    }
  }
  void poison(std::size_t which) {
    gpu::require(cudaMemset(array<void>(which), 0xA5, static_cast<std::size_t>(sizes_[which])), "clearing an array");
  }
  void fetch(void* values, std::size_t which) {
    gpu::require(cudaDeviceSynchronize(), "running a rung");
    gpu::require(
        cudaMemcpy(values, array<void>(which), static_cast<std::size_t>(sizes_[which]), cudaMemcpyDeviceToHost),
        "copying from the device");
  }

 private:
  std::vector<std::int64_t> sizes_;
  std::size_t turn_ = 0;
  std::vector<std::vector<std::unique_ptr<DeviceBytes>>> sets_;
};

/// Seconds of one of many calls that are launched as one graph.
inline double seconds_in_graph(EventClock& clock, const std::function<void()>& run) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t calls = nullptr;
  gpu::require(cudaStreamBeginCapture(clock.stream(), cudaStreamCaptureModeThreadLocal), "capturing a graph");
  for (int i = 0; i < kGraphCalls; ++i) run();
  gpu::require(cudaStreamEndCapture(clock.stream(), &graph), "capturing a graph");
  gpu::require(cudaGraphInstantiate(&calls, graph, 0), "instantiating a graph");
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    samples.push_back(
        clock.seconds_of([&] { gpu::require(cudaGraphLaunch(calls, clock.stream()), "launching a graph"); }));
  }
  gpu::require(cudaGraphExecDestroy(calls), "destroying a graph");
  gpu::require(cudaGraphDestroy(graph), "destroying a graph");
  return median(samples) / kGraphCalls;
}

/// "estimated 71 s" where a run of kProbe elements says that one of n would take longer than it may, else "".
inline std::string estimated_beyond(EventClock& clock, std::int64_t n, double max_seconds,
                                    const std::function<void()>& probe) {
  if (n <= kProbe) return "";
  probe();  // the first launch loads the kernel
  const double estimate = clock.seconds_of(probe) * static_cast<double>(n) / static_cast<double>(kProbe);
  // Every launch takes some microseconds: times below that say nothing about the length.
  const bool is_length = estimate > 50e-6 * static_cast<double>(n) / static_cast<double>(kProbe);
  return is_length && estimate > max_seconds ? estimated(estimate) : "";
}

}  // namespace upsweep::bench
