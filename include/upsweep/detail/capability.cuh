// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/capability.cuh: whether the code that was compiled here runs look-ahead on a device.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/detail/tile_pipeline.cuh"

namespace upsweep::gpu::detail {

// All are static on purpose: every translation unit has its own, as each may be compiled for other architectures.

/// Nothing but a name for the architecture that the driver takes this translation unit's code for.
template <int = 0>
static __global__ void code_of_this_unit() {}

/// Asks whether kernels of this translation unit have what look-ahead needs on the current device: code for compute
/// capability 9.0, where bulk copies and clusters came, not older code that the driver has brought forward; and shared
/// memory enough.
template <int = 0>
static cudaError_t ask_for_lookahead(int device, bool& has) noexcept {
  has = false;
  cudaFuncAttributes code = {};
  const cudaError_t error = cudaFuncGetAttributes(&code, code_of_this_unit<>);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    forget_last_error();  // an answer, not an error
    return cudaSuccess;
  }
  if (error != cudaSuccess) return error;
  int shared = 0;
  const cudaError_t limit = most_shared_memory(device, shared);
  has = limit == cudaSuccess && code.ptxVersion >= 90 && shared >= kSharedBytes;
  return limit;
}

/// Null where look-ahead runs on the device, which is the current one, else the reason why not. Asked once per device, and
/// again where the question itself failed: a device that was lost, or memory that was short at that moment.
template <int = 0>
static const char* lookahead_refusal(int device) noexcept {
  static std::atomic<std::uint64_t> asked{0};
  static std::atomic<std::uint64_t> having{0};
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((asked.load(std::memory_order_acquire) & bit) == 0) {
    bool has = false;
    if (const cudaError_t error = ask_for_lookahead(device, has); error != cudaSuccess) {
      forget_last_error();  // reported here
      return cudaGetErrorString(error);
    }
    if (has) having.fetch_or(bit, std::memory_order_relaxed);
    asked.fetch_or(bit, std::memory_order_release);
  }
  if ((having.load(std::memory_order_relaxed) & bit) != 0) return nullptr;
  return "needs compute capability 9.0 with 227 KB of shared memory, and code for it";
}

}  // namespace upsweep::gpu::detail
