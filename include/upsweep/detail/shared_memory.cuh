// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/shared_memory.cuh: the dynamic shared memory of a block: its arrays, and what a kernel must be allowed first.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::gpu::detail {

// ------------------------------------------------------------------------------------------------------------- arrays

/// Arrays in a block's dynamic shared memory, one after the other. A layout is a type whose constructor takes them: the kernel makes
/// one of its memory, and shared_bytes_of() one of none, which counts. Arrays of types with larger alignments are taken first: then
/// nothing lies between them.
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

/// Bytes of a layout of such sizes.
template <class Layout, class... Sizes>
std::size_t shared_bytes_of(const Sizes&... sizes) {
  SharedArrays counted(nullptr);
  (void)Layout(counted, sizes...);
  return counted.bytes();
}

// ---------------------------------------------------------------------------------------------- more than 48 KB of it

/// The most that a block of a device can have, if the kernel is allowed it.
[[nodiscard]] static inline cudaError_t most_shared_memory(int device, int& bytes) {
  return cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}

/// Allows a kernel all the dynamic shared memory that a block of the current device, which is `device`, can have. Less would
/// not do: the limit belongs to the kernel, and a thread that lowers it makes the launch of another thread fail.
[[nodiscard]] static inline cudaError_t allow_shared_memory(const void* kernel, int device) {
  int most = 0;
  cudaFuncAttributes attributes = {};
  cudaError_t error = most_shared_memory(device, most);
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
