// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_shuffle.cu: each thread sums many rows, and warps fold by shuffles once, at the end.
//
// Idea   The grid is the number of blocks that the GPU holds at a time. A thread steps through the rows by the grid's
//        stride, with four keys in flight, and keeps its sum in a register. It needs no tree for every 512 rows. At the
//        end warps fold by shuffles, without shared memory, and blocks fold their warps. One block of a second launch
//        folds the blocks' sums.
// Cost   The keys and the touched sectors. Work n, depth n/threads + 2·log2 32.
// Needs  Any GPU; scratch for one sum per block.
// Limit  4 bytes per load, a wait for each payload, and a second launch. cuda.fused has none of these.
// From   Shuffles came with Kepler, a year after "Exercise Session 12". "Faster Parallel Reductions on Kepler"
//        (J. Luitjens, NVIDIA 2014) describes them and grid-stride loops.
#include <algorithm>

#include "problems/dense/filtered_sum/cuda_rows.cuh"
#include "upsweep/detail/tuning/filtered_sum.hpp"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

constexpr int kWarps = kBlock / 32;
constexpr int kKeys = gpu::tuning::kShuffledSum.keys;  // in flight per thread

__global__ void __launch_bounds__(kBlock, gpu::tuning::kShuffledSum.resident)
    shuffle_select_and_sum(const DeviceRows rows, Sum* sums) {
  __shared__ Sum warp_sums[kWarps];
  // [guide: rows]
  const std::int64_t step = std::int64_t{gridDim.x} * kBlock;
  Sum sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kBlock + threadIdx.x; i < rows.n; i += kKeys * step) {
    bool kept[kKeys];
#pragma unroll
    for (int k = 0; k < kKeys; ++k) kept[k] = i + k * step < rows.n && rows.key[i + k * step] < rows.limit;
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      if (kept[k]) sum += static_cast<Sum>(rows.quantity[i + k * step]) * static_cast<Sum>(rows.price[i + k * step]);
    }
  }
  sum = fold_block<kWarps>(sum, warp_sums);
  // [guide: end]
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void shuffle_sum_of_blocks(const Sum* sums, std::int64_t n, std::int64_t* out) {
  __shared__ Sum warp_sums[kWarps];
  Sum sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += kBlock) sum += sums[i];
  sum = fold_block<kWarps>(sum, warp_sums);
  if (threadIdx.x == 0) *out = static_cast<std::int64_t>(sum);
}

std::int64_t blocks_on(const detail::FilteredSumCall& call) {
  return std::min<std::int64_t>(blocks_of(call.n, kBlock),
                                std::int64_t{gpu::tuning::kShuffledSum.resident} * call.launch->multiprocessors);
}

Status launch(detail::FilteredSumCall& call, const Policy&) noexcept {
  auto* const sums = static_cast<Sum*>(call.launch->scratch);
  const std::int64_t blocks = blocks_on(call);
  call.partials = call.out;
  call.partial_count = 1;
  const cudaError_t error = launch_on_rows(call, shuffle_select_and_sum, blocks, kBlock, sums);
  if (error != cudaSuccess) return gpu::status_of(error);
  return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = kBlock, .stream = call.launch->stream},
                                            shuffle_sum_of_blocks, sums, blocks, call.out));
}

gpu::WorkspaceSize workspace(const detail::FilteredSumCall& call) noexcept { return partials_size(blocks_on(call)); }

}  // namespace
#endif

extern const Rung cuda_shuffle{.info = {.id = "cuda.shuffle",
                                        .idea = "many rows per thread, warps sum by shuffles",
                                        .needs = "any GPU",
                                        .traffic = kSectors,
                                        .cost = "n, n/threads + 2·log 32",
                                        .limit = "4 bytes per load, a second launch"},
                               .run = launch,
                               .workspace = workspace};

}  // namespace upsweep::impl::filtered_sum
