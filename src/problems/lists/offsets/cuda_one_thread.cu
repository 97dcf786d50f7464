// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_one_thread.cu: the reference kernel, unchanged, on one thread of a GPU.
//
// Idea   cpu.serial in a kernel of one thread.
// Cost   24 bytes per list of int64. Work 2n, depth n.
// Needs  Any GPU.
// Limit  The latency of memory and of one addition: a ten-thousandth of the device's throughput. cuda.turn_taking uses
//        many threads and is not faster; cuda.hillis_steele_global is faster.
// From   Awkward Array's own CUDA kernel of compact_offsets. "Evaluation task for Awkward Array GSoC project" (P. Das
//        2020) begins with it.
#include "problems/lists/offsets/cuda_lists.cuh"

namespace upsweep::impl::offsets {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::OneThread>;
#endif

extern const Rung cuda_one_thread{.info = {.id = "cuda.one_thread",
                                           .idea = "the reference kernel, in one thread",
                                           .needs = "any GPU",
                                           .traffic = "2n read, n written",
                                           .cost = "2n, n",
                                           .limit = "one lane out of thousands"},
                                  .run = launch};

}  // namespace upsweep::impl::offsets
