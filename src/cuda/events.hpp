// SPDX-License-Identifier: Apache-2.0
// cuda/events.hpp: device arrays, streams, events and pinned memory that are released with their owner.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "cuda/check.hpp"

namespace upsweep::gpu {

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
  /// Returns the time from another event to this one; both must be complete.
  [[nodiscard]] double seconds_since(const Event& begin) const {
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_), "timing");
    return static_cast<double>(milliseconds) * 1e-3;
  }
};

/// Host memory that is pinned during this object's lifetime.
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

}  // namespace upsweep::gpu
