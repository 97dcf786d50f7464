// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_two_loads.cu: two rows per thread and half as many blocks: the tree's first level while loading.
//
// Idea   Every thread adds the products of rows i and i + 256 before anything goes to shared memory: no thread is idle
//        then, and two keys are in flight at a time. The source computes i from blockDim.x * blockDim.x * 2, with
//        which all blocks would sum the same rows; it is blockIdx.x * (blockDim.x * 2) here.
// Cost   As cuda.interleaved, with 8 bytes per 512 rows back.
// Needs  Any GPU; a sum per block of scratch; a call that waits.
// Limit  11,722 sums for six million rows, which the host adds up. cuda.reduce_again has the GPU do that too.
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
    host_adds_rung("cuda.two_loads", "two rows per thread, half as many blocks", "n, 9 + n/512 on the host",
                   "one sum per 512 rows left to the host", launch, workspace);

}  // namespace upsweep::impl::filtered_sum
