// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/large_launch.cuh: kernels that have more than 48 KB of dynamic shared memory, which each must be allowed first.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::gpu::detail {

/// Allows a kernel all the dynamic shared memory that a block of the current device, which is `device`, can have. Less would
/// not do: the limit belongs to the kernel, and a thread that lowers it makes the launch of another thread fail.
[[nodiscard]] static inline cudaError_t allow_shared_memory(const void* kernel, int device) {
  int most = 0;
  cudaFuncAttributes attributes = {};
  cudaError_t error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(attributes.sharedSizeBytes));
}

/// The same, once for each device: the runtime forgets the caller's last error over it. Each kernel has a Key of its own.
template <class Key>
[[nodiscard]] static cudaError_t allow_shared_memory_once(const void* kernel, int device) {
  static std::atomic<std::uint64_t> allowed{0};
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((allowed.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  const cudaError_t error = allow_shared_memory(kernel, device);
  if (error == cudaSuccess) allowed.fetch_or(bit, std::memory_order_relaxed);
  return error;
}

/// As launch(), on the current device, which is `device`. Each kernel has a Key of its own.
template <class Key, class... Parameters, class... Arguments>
[[nodiscard]] static cudaError_t launch_large(const Grid& grid, int device, void (*kernel)(Parameters...),
                                              const Arguments&... arguments) {
  const auto* const handle = reinterpret_cast<const void*>(kernel);
  cudaError_t error = allow_shared_memory_once<Key>(handle, device);
  if (error == cudaSuccess) error = launch(grid, kernel, arguments...);
  if (error != cudaErrorInvalidValue) return error;
  // What was allowed may have ended with its context: the device was reset, or is another one with the same bit.
  forget_last_error();  // handled here: the caller must not find it
  error = allow_shared_memory(handle, device);
  return error == cudaSuccess ? launch(grid, kernel, arguments...) : error;
}

}  // namespace upsweep::gpu::detail
