// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_turn_taking.cu: a thread per list, one after the other.
//
// Idea   The reference loop's iterations as threads; a barrier between turns keeps the order.
// Cost   24 bytes per list of int64, and a barrier per list. Work 2n, depth n barriers.
// Needs  Any GPU.
// Limit  As scan's cuda.turn_taking: a launch per block of 1024, as the source's kernel does not order blocks.
// From   "Sequential algorithm on multiple threads" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020),
//        corrected.
#include "problems/lists/offsets/cuda_lists.cuh"

namespace upsweep::impl::offsets {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::Turns>;
#endif

extern const Rung cuda_turn_taking{.info = {.id = "cuda.turn_taking",
                                            .idea = "a thread per list, one after the other",
                                            .needs = "any GPU",
                                            .traffic = "2n read, n written",
                                            .cost = "2n, n barriers",
                                            .limit = "a barrier per list"},
                                   .run = launch};

}  // namespace upsweep::impl::offsets
