// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/kernel_launch.cuh: puts a kernel into a stream and returns the error of that launch, not of an earlier one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace upsweep::gpu::detail {

/// Where and how large a kernel runs.
struct Grid {
  dim3 blocks;
  dim3 threads;
  cudaStream_t stream = nullptr;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  unsigned cluster = 1;          ///< blocks of a cluster
};

/// kernel<<<…>>> would leave its outcome to cudaGetLastError(), where an error that the caller has not read yet would
/// be taken for it, and be lost to the caller. This returns the launch's own, and leaves the caller's where it is.
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
