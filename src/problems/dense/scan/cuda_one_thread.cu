// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_one_thread.cu: the loop of cpu.serial, in one thread of the GPU.
//
// Idea   It shows what a kernel is, and nothing more: the same loop, started as <<<1, 1>>>.
// Cost   n read, n written. Work n, depth n.
// Needs  Any GPU.
// Limit  Only one of thousands of lanes works: every addition waits for the previous one, and every load for the
//        memory. All other rungs use more than one thread.
// From   "Sequential algorithm on a single thread" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020).
#include "problems/dense/scan/cuda_elements.cuh"

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::OneThread>;
#endif

extern const Rung cuda_one_thread{.info = {.id = "cuda.one_thread",
                                           .idea = "the loop, in one thread",
                                           .needs = "any GPU",
                                           .traffic = "n read, n written",
                                           .cost = "n, n",
                                           .limit = "one of thousands of lanes works"},
                                  .refusal = taught,
                                  .run = launch};

}  // namespace upsweep::impl::scan
