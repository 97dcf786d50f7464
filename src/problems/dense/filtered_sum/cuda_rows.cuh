// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_rows.cuh: the rows and the tree that the rungs of "Exercise Session 12" share.
#pragma once

#include "problems/dense/filtered_sum/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cuda_runtime.h>

#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::impl::filtered_sum {

/// Sums are modulo 2^64; the type is unsigned, so that overflow is defined.
using Sum = unsigned long long;

struct DeviceRows {
  const std::uint32_t* key;
  const std::int64_t* quantity;
  const std::int64_t* price;
  std::int64_t n;
  std::uint32_t limit;

  /// Returns row i's product, or 0 if the row is not kept or past the end.
  __device__ __forceinline__ Sum product(std::int64_t i) const {
    return i < n && key[i] < limit ? static_cast<Sum>(quantity[i]) * static_cast<Sum>(price[i]) : 0;
  }
};

inline DeviceRows rows_of(const detail::FilteredSumCall& call) {
  return {call.key, call.quantity, call.price, call.n, call.limit};
}

/// The block size that "Exercise Session 12" uses most.
inline constexpr int kBlock = 256;

/// Returns the number of blocks: at least one, so that the sum of no rows is written as 0.
constexpr std::int64_t blocks_of(std::int64_t n, int rows_per_block) {
  return n > 0 ? (n + rows_per_block - 1) / rows_per_block : 1;
}

/// Launches kernel<<<blocks, threads>>>(rows, sums) in the call's stream.
inline cudaError_t launch_on_rows(const detail::FilteredSumCall& call, void (*kernel)(DeviceRows rows, Sum* sums),
                                  std::int64_t blocks, int threads, Sum* sums) {
  const gpu::detail::Grid grid{.blocks = static_cast<unsigned>(blocks),
                               .threads = static_cast<unsigned>(threads),
                               .stream = call.launch->stream};
  return gpu::detail::launch(grid, kernel, rows_of(call), sums);
}

/// Calls launch(partials), which returns its error and leaves `count` partial sums in scratch for the host to add up.
template <class Launch>
Status leave_partials(detail::FilteredSumCall& call, std::int64_t count, Launch launch) {
  auto* partials = static_cast<Sum*>(call.launch->scratch);
  call.partials = reinterpret_cast<const std::int64_t*>(partials);
  call.partial_count = count;
  return gpu::status_of(launch(partials));
}
constexpr gpu::WorkspaceSize partials_size(std::int64_t count) {
  return {.scratch = count * std::int64_t{sizeof(Sum)}};
}

/// Runs a kernel whose blocks of kBlock threads each leave the sum of `kRows` rows.
template <auto kKernel, int kRows = kBlock>
Status launch_blocks(detail::FilteredSumCall& call, const Policy&) noexcept {
  const std::int64_t blocks = blocks_of(call.n, kRows);
  return leave_partials(call, blocks, [&](Sum* sums) { return launch_on_rows(call, kKernel, blocks, kBlock, sums); });
}
template <int kRows = kBlock>
gpu::WorkspaceSize block_sums(const detail::FilteredSumCall& call) noexcept {
  return partials_size(blocks_of(call.n, kRows));
}

// --------------------------------------------------------------------------------------------------------- the tree
// Each thread of a block writes one value to shared memory; thread 0 returns the sum of these values.

/// Adds the upper half to the lower half, again and again, down to `kLast` values. kThreads / kLast is a power of two.
template <int kThreads, int kLast = 1>
__device__ __forceinline__ void fold_halves(Sum* values) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // all values are written
  for (int half = kThreads / 2; half >= kLast; half /= 2) {
    // Lanes of a warp touch neighboring words, each in a different bank.
    if (thread < half) values[thread] += values[thread + half];
    __syncthreads();  // this level is done
  }
}

/// Folds the last 64 values in the block's first warp, without a loop or a block barrier. The source has no barrier at
/// all here: a warp's threads then moved in step. Since Volta they need not. Each level's reads must end before the
/// next level's writes, and these writes before the next reads. __syncwarp orders both.
__device__ __forceinline__ Sum fold_last_warp(Sum* values) {
  const int lane = static_cast<int>(threadIdx.x);
  Sum mine = values[lane];
#pragma unroll
  for (int half = 32; half >= 1; half /= 2) {
    mine += values[lane + half];  // the results of lanes from `half` on are not used
    __syncwarp();                 // all lanes have read
    values[lane] = mine;
    __syncwarp();  // all lanes have written
  }
  return mine;
}

/// Halves down to 64 values, then folds the last warp. For any multiple of 32 threads from 64 on. Thread 0 has the sum.
template <int kThreads>
__device__ __forceinline__ Sum fold_unrolled(Sum* values) {
  constexpr int kPower = kThreads >= 1024  ? 1024
                         : kThreads >= 512 ? 512
                         : kThreads >= 256 ? 256
                         : kThreads >= 128 ? 128
                                           : 64;
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (kPower < kThreads) {
    // 384 threads: halving 3 would lose a value, so the values beyond a power of two are added first.
    __syncthreads();  // all values are written
    if (thread < kThreads - kPower) values[thread] += values[thread + kPower];
  }
  fold_halves<kPower, 64>(values);
  return thread < 32 ? fold_last_warp(values) : 0;
}

/// Sums 2·kThreads rows per block into sums[blockIdx.x]: the body of cuda.two_loads' kernel, which the next two rungs
/// also use.
template <int kThreads>
__device__ __forceinline__ void two_loads(const DeviceRows& rows, Sum* sums) {
  __shared__ Sum values[kThreads];
  // The source has blockDim.x * blockDim.x * 2 + threadIdx.x, which is the same for every block. It
  // must be blockIdx.x instead of the first blockDim.x.
  const std::int64_t i = std::int64_t{blockIdx.x} * (kThreads * 2) + threadIdx.x;
  values[threadIdx.x] = rows.product(i) + rows.product(i + kThreads);
  const Sum sum = fold_unrolled<kThreads>(values);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// The sum of the values of kWarps warps' threads, by shuffles; thread 0 has it. Every thread must call.
template <int kWarps>
__device__ __forceinline__ Sum fold_block(Sum sum, Sum* warp_sums) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  sum = gpu::detail::fold_lanes(Add{}, sum, lane);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();  // all warps' sums are written
  return gpu::detail::fold_lanes(Add{}, warp_sums[lane % kWarps], lane, kWarps);
}

}  // namespace upsweep::impl::filtered_sum
#endif
