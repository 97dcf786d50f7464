// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_unrolled.cu: one warp does the last six levels, without loop or block barriers.
//
// Idea   When 64 values are left, only the first warp works: its six additions follow one another in the code. The
//        source omits all barriers in these levels, because the threads of a warp ran in lockstep in 2012. Since Volta
//        each thread has a program counter, so a thread may read a value before or after its owner has overwritten it.
//        Therefore __syncwarp separates the reads and the writes of a level (fold_last_warp in cuda_rows.cuh).
// Cost   As cuda.interleaved. In the source, instructions fall to a sixteenth (53,548,768 to 3,283,837).
// Needs  Any GPU; scratch for one sum per block; a call that waits.
// Limit  Half of the threads do nothing from the first level on. In cuda.two_loads every thread reads two rows.
// From   selectandsumopt2 of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 16.764 to 12.939 ms.
#include "problems/dense/filtered_sum/cuda_rows.cuh"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

__global__ void unrolled_select_and_sum(const DeviceRows rows, Sum* sums) {
  __shared__ Sum values[kBlock];
  values[threadIdx.x] = rows.product(std::int64_t{blockIdx.x} * kBlock + threadIdx.x);
  const Sum sum = fold_unrolled<kBlock>(values);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

constexpr auto launch = &launch_blocks<unrolled_select_and_sum>;
constexpr auto workspace = &block_sums<>;

}  // namespace
#endif

extern const Rung cuda_unrolled =
    host_adds_rung("cuda.unrolled", "the tree's last warp without loop or barrier", "n, 8 + n/256 on the host",
                   "half of the threads idle from the start", launch, workspace);

}  // namespace upsweep::impl::filtered_sum
