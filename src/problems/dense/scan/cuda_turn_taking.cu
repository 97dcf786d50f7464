// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_turn_taking.cu: one thread per element; each thread adds its element in its own round.
//
// Idea   Many threads, still one after the other: in round t only thread t adds. A barrier for all threads of the block
//        ends the round.
// Cost   n read, n written, and the last output of each block read again. Work n, depth n barriers.
// Needs  Any GPU.
// Limit  A barrier per element: slower than one thread. Blocks have no order within a launch. The source's kernel
//        assumes one, and reads what another block may not have written yet. So an array of more than one block takes
//        one launch per block, in order. In cuda.hillis_steele all threads add in every round.
// From   "Sequential algorithm on multiple threads" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020),
//        corrected.
#include "problems/dense/scan/cuda_elements.cuh"

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::Turns>;
#endif

extern const Rung cuda_turn_taking{.info = {.id = "cuda.turn_taking",
                                            .idea = "a thread per element, one after the other",
                                            .needs = "any GPU",
                                            .traffic = "n read, n written",
                                            .cost = "n, n barriers",
                                            .limit = "a barrier per element; a launch per block"},
                                   .refusal = tiles_refusal,
                                   .run = launch};

}  // namespace upsweep::impl::scan
