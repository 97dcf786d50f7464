// SPDX-License-Identifier: Apache-2.0
// aggregate/cuda_two_loads.cuh: the body of cuda.two_loads' kernel, which the next two rungs build on.
#pragma once

#include "aggregate/cuda_rows.cuh"

namespace upsweep::aggregate {

/// A block sums 2·kThreads rows into sums[blockIdx.x].
template <int kThreads>
__device__ __forceinline__ void two_loads(const DeviceRows& rows, Sum* sums) {
  __shared__ Sum values[kThreads];
  // The source has blockDim.x * blockDim.x * 2 + threadIdx.x, which is the same for every block: blockIdx.x is meant.
  const std::int64_t i = std::int64_t{blockIdx.x} * (kThreads * 2) + threadIdx.x;
  values[threadIdx.x] = rows.product(i) + rows.product(i + kThreads);
  const Sum sum = fold_unrolled<kThreads>(values);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

}  // namespace upsweep::aggregate
