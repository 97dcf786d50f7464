// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/capability.cuh: whether the code of this translation unit supports look-ahead on a device.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/detail/tile_pipeline.cuh"

namespace upsweep::gpu::detail {

// All functions are static on purpose. Each translation unit may be compiled for other architectures, so it needs its
// own.

/// An empty kernel. The driver reports the architecture that it selected for the code of this translation unit.
template <int = 0>
static __global__ void code_of_this_unit() {}

/// Asks whether kernels of this translation unit can run look-ahead on the current device. Look-ahead needs:
/// - code for compute capability 9.0, which introduced bulk copies and clusters; older code that the driver has
///   compiled for the device is not sufficient;
/// - enough shared memory.
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

/// Returns null if look-ahead runs on `device`, which must be the current device; otherwise the reason. Each device is
/// asked once, and again if the question itself failed, for example because the device was lost or memory was short.
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
