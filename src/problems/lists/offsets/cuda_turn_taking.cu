// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_turn_taking.cu: one thread per list; the threads take turns.
//
// Idea   The iterations of the reference loop as threads; a barrier between turns keeps the order.
// Cost   24 bytes per list of int64, and a barrier per list. Work 2n, depth n barriers.
// Needs  Any GPU.
// Limit  As scan's cuda.turn_taking: one launch per block of 1024, because the source's kernel does not order blocks.
// From   "Sequential algorithm on multiple threads" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020),
//        corrected.
#include "problems/lists/offsets/cuda_lists.cuh"

namespace upsweep::impl::offsets {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::Turns>;
#endif

extern const Rung cuda_turn_taking{.info = {.id = "cuda.turn_taking",
                                            .idea = "one thread per list; threads take turns",
                                            .needs = "any GPU",
                                            .traffic = "2n read, n written",
                                            .cost = "2n, n barriers",
                                            .limit = "a barrier per list"},
                                   .run = launch};

}  // namespace upsweep::impl::offsets
