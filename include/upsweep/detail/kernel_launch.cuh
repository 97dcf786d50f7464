// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/kernel_launch.cuh: launches a kernel into a stream and returns the error of that launch only.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace upsweep::gpu::detail {

/// The size of a kernel's grid, and its stream.
struct Grid {
  dim3 blocks;
  dim3 threads;
  cudaStream_t stream = nullptr;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  unsigned cluster = 1;          ///< blocks of a cluster
};

/// Launches a kernel and returns the error of this launch. kernel<<<…>>> would report its outcome by
/// cudaGetLastError(). An unread earlier error of the caller would then be mistaken for that outcome, and be lost to
/// the caller. This function leaves the caller's error unread.
template <class... Parameters, class... Arguments>
[[nodiscard]] cudaError_t launch(const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = grid.cluster;
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = grid.stream;
  config.attrs = &cluster;
  config.numAttrs = grid.cluster > 1 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace upsweep::gpu::detail
