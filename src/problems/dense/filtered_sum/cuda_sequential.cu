// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_sequential.cu: the tree adds the upper half to the lower half: sequential addresses.
//
// Idea   As cuda.interleaved, but thread t adds value t + half, for half = 128, 64, …: lanes touch neighboring words.
// Cost   As cuda.interleaved.
// Needs  Any GPU; scratch for one sum per block; a call that waits. The block size is a power of two.
// Limit  The loop, and a barrier per level. In the last six levels only one warp works. For these levels,
//        cuda.unrolled needs neither a loop nor block barriers.
// From   selectandsumopt1 of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 36.046 to 16.764 ms, bank conflicts
//        6,223,004 to 993,635.
#include "problems/dense/filtered_sum/cuda_rows.cuh"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

__global__ void sequential_select_and_sum(const DeviceRows rows, Sum* sums) {
  // [guide: kernel]
  __shared__ Sum values[kBlock];
  values[threadIdx.x] = rows.product(std::int64_t{blockIdx.x} * kBlock + threadIdx.x);
  fold_halves<kBlock>(values);
  if (threadIdx.x == 0) sums[blockIdx.x] = values[0];
  // [guide: end]
}

constexpr auto launch = &launch_blocks<sequential_select_and_sum>;
constexpr auto workspace = &block_sums<>;

}  // namespace
#endif

extern const Rung cuda_sequential =
    host_adds_rung("cuda.sequential", "the tree adds halves: no bank conflicts", "n, 8 + n/256 on the host",
                   "a loop and a barrier per level", launch, workspace);

}  // namespace upsweep::impl::filtered_sum
