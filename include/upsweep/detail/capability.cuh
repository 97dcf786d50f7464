// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/capability.cuh: whether the code that was compiled here runs look-ahead on a device.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "upsweep/detail/tile_pipeline.cuh"

namespace upsweep::gpu::detail {

// Both are static on purpose: every translation unit has its own, as each may be compiled for other architectures.

/// Nothing but a name for the architecture that the driver takes this translation unit's code for.
template <int = 0>
static __global__ void code_of_this_unit() {}

/// Whether kernels of this translation unit have what look-ahead needs on the current device: code for compute capability
/// 9.0, where bulk copies and clusters came, not older code that the driver has brought forward; and shared memory enough.
template <int = 0>
static bool has_lookahead(int device) noexcept {
  static std::atomic<std::uint64_t> asked{0};
  static std::atomic<std::uint64_t> has{0};
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((asked.load(std::memory_order_acquire) & bit) == 0) {
    cudaFuncAttributes code = {};
    int shared = 0;
    const bool there =
        cudaFuncGetAttributes(&code, code_of_this_unit<>) == cudaSuccess && code.ptxVersion >= 90 &&
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
        shared >= kSharedBytes;
    (void)cudaGetLastError();  // no code at all for the device: the answer is no
    if (there) has.fetch_or(bit, std::memory_order_relaxed);
    asked.fetch_or(bit, std::memory_order_release);
  }
  return (has.load(std::memory_order_relaxed) & bit) != 0;
}

}  // namespace upsweep::gpu::detail
