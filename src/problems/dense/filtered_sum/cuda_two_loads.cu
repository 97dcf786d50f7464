// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_two_loads.cu: two rows per thread, half the blocks: loading does the first level.
//
// Idea   Every thread adds the products of rows i and i + 256 before it writes to shared memory. Therefore no thread is
//        idle in the first level, and two keys are in flight at a time. The source computes i from blockDim.x *
//        blockDim.x * 2, so all blocks would sum the same rows. This rung computes i from blockIdx.x * (blockDim.x *
//        2).
// Cost   As cuda.interleaved, with 8 bytes per 512 rows copied back.
// Needs  Any GPU; scratch for one sum per block; a call that waits.
// Limit  11,722 sums for six million rows, which the host adds up. cuda.reduce_again adds them up on the GPU.
// From   selectandsumopt3 of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 12.93 to 8.181 ms.
#include "problems/dense/filtered_sum/cuda_rows.cuh"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

__global__ void two_loads_select_and_sum(const DeviceRows rows, Sum* sums) { two_loads<kBlock>(rows, sums); }

constexpr auto launch = &launch_blocks<two_loads_select_and_sum, 2 * kBlock>;
constexpr auto workspace = &block_sums<2 * kBlock>;

}  // namespace
#endif

extern const Rung cuda_two_loads =
    host_adds_rung("cuda.two_loads", "two rows per thread, half the blocks", "n, 9 + n/512 on the host",
                   "one sum per 512 rows left to the host", launch, workspace);

}  // namespace upsweep::impl::filtered_sum
