// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_interleaved.cu: every block sums its rows by a tree in shared memory, pairs first.
//
// Idea   Thread i writes row i's product, or 0, to shared memory. Then values at distance 1 are added in pairs, these
//        sums at distance 2, and so on: log2 256 levels with a barrier each. The host adds up one sum per block.
// Cost   The keys and the touched sectors; 8 bytes per 256 rows copied back. Work n, depth 8 + n/256 on the host.
// Needs  Any GPU; scratch for one sum per block; a call that waits.
// Limit  Bank conflicts: at distance s the words of adjacent lanes are 2s apart. Therefore up to 16 lanes access the
//        same bank, one after the other (6,223,004 conflicts in "Exercise Session 12", on a GeForce 9500 GT).
//        cuda.sequential adds halves instead.
// From   selectandsum of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 36.046 ms, slower
//        than adding up on the host.
#include "problems/dense/filtered_sum/cuda_rows.cuh"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

__global__ void interleaved_select_and_sum(const DeviceRows rows, Sum* sums) {
  // [guide: tree]
  __shared__ Sum values[kBlock];
  values[threadIdx.x] = rows.product(std::int64_t{blockIdx.x} * kBlock + threadIdx.x);
  __syncthreads();  // all values are written
  for (int step = 1; step < kBlock; step *= 2) {
    // Lanes of a warp touch words 2·step apart. From step 8 on, all words are in the same banks: one access at a time.
    const int i = 2 * step * static_cast<int>(threadIdx.x);
    if (i < kBlock) values[i] += values[i + step];
    __syncthreads();  // this level is done
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = values[0];
  // [guide: end]
}

constexpr auto launch = &launch_blocks<interleaved_select_and_sum>;
constexpr auto workspace = &block_sums<>;

}  // namespace
#endif

extern const Rung cuda_interleaved =
    host_adds_rung("cuda.interleaved", "blocks sum by a tree of strided neighbors", "n, 8 + n/256 on the host",
                   "bank conflicts, idle warps", launch, workspace);

}  // namespace upsweep::impl::filtered_sum
