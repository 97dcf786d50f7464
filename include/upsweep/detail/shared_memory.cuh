// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/shared_memory.cuh: dynamic shared memory of a block: its arrays, and permission for large sizes.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::gpu::detail {

// ------------------------------------------------------------------------------------------------------------- arrays

/// Arrays in a block's dynamic shared memory, one after the other. A layout is a type whose constructor takes its
/// arrays from this class. The kernel constructs a layout from its memory. shared_bytes_of() constructs one from null,
/// to count the bytes. Arrays of types with larger alignments must be taken first, so that no padding is needed.
class SharedArrays {
 public:
  __host__ __device__ __forceinline__ explicit SharedArrays(void* memory)
      : memory_(static_cast<unsigned char*>(memory)) {}

  template <class T>
  [[nodiscard]] __host__ __device__ __forceinline__ T* take(int count) {
    T* const array = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += static_cast<std::size_t>(count) * sizeof(T);
    return array;
  }
  [[nodiscard]] __host__ __device__ std::size_t bytes() const { return bytes_; }

 private:
  unsigned char* memory_;
  std::size_t bytes_ = 0;
};

/// Returns the bytes of a layout with these sizes.
template <class Layout, class... Sizes>
std::size_t shared_bytes_of(const Sizes&... sizes) {
  SharedArrays counted(nullptr);
  (void)Layout(counted, sizes...);
  return counted.bytes();
}

// ----------------------------------------------------------------------------------- more than 48 KB of shared memory

/// Sets the maximum shared memory of a block on a device, for kernels that are allowed to use it.
[[nodiscard]] static inline cudaError_t most_shared_memory(int device, int& bytes) {
  return cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}

/// Allows a kernel to use all the dynamic shared memory that a block of `device`, the current device, can have. A
/// smaller limit would not work: the limit belongs to the kernel, and a thread that lowers it makes the launch of
/// another thread fail.
[[nodiscard]] static inline cudaError_t allow_shared_memory(const void* kernel, int device) {
  int most = 0;
  cudaFuncAttributes attributes = {};
  cudaError_t error = most_shared_memory(device, most);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(attributes.sharedSizeBytes));
}

/// Calls allow_shared_memory() once per device, because the call clears the last error that the runtime keeps for the
/// caller. Each kernel has a separate Key.
template <class Key>
[[nodiscard]] static cudaError_t allow_shared_memory_once(const void* kernel, int device) {
  static std::atomic<std::uint64_t> allowed{0};
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((allowed.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  const cudaError_t error = allow_shared_memory(kernel, device);
  if (error == cudaSuccess) allowed.fetch_or(bit, std::memory_order_relaxed);
  return error;
}

/// Launches as launch() does, on `device`, which is the current device. Each kernel has a separate Key.
template <class Key, class... Parameters, class... Arguments>
[[nodiscard]] static cudaError_t launch_large(const Grid& grid, int device, void (*kernel)(Parameters...),
                                              const Arguments&... arguments) {
  const auto* const handle = reinterpret_cast<const void*>(kernel);
  cudaError_t error = allow_shared_memory_once<Key>(handle, device);
  if (error == cudaSuccess) error = launch(grid, kernel, arguments...);
  if (error != cudaErrorInvalidValue) return error;
  // The permission may have ended with its context: the device was reset, or it is another device with the same bit.
  forget_last_error();  // handled here, so the caller must not see it
  error = allow_shared_memory(handle, device);
  return error == cudaSuccess ? launch(grid, kernel, arguments...) : error;
}

}  // namespace upsweep::gpu::detail
