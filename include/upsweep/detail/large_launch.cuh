// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/large_launch.cuh: puts kernels into a stream that have more than 48 KB of dynamic shared memory, which each must be
// allowed first.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::gpu::detail {

/// As launch(), on the current device, which is `device`. Each kernel has a Key of its own, and always the same grid.shared_bytes.
template <class Key, class... Parameters, class... Arguments>
[[nodiscard]] static cudaError_t launch_large(const Grid& grid, int device, void (*kernel)(Parameters...),
                                              const Arguments&... arguments) {
  const auto allow = [&] {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(grid.shared_bytes));
  };
  // Once per device, not per launch: the runtime forgets the caller's last error over it.
  static std::atomic<std::uint64_t> allowed{0};
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((allowed.load(std::memory_order_relaxed) & bit) == 0) {
    if (const cudaError_t error = allow(); error != cudaSuccess) return error;
    allowed.fetch_or(bit, std::memory_order_relaxed);
  }
  cudaError_t error = launch(grid, kernel, arguments...);
  if (error != cudaErrorInvalidValue) return error;
  // What was allowed may have ended with its context: the device was reset, or is another one with the same bit.
  error = allow();
  return error == cudaSuccess ? launch(grid, kernel, arguments...) : error;
}

}  // namespace upsweep::gpu::detail
