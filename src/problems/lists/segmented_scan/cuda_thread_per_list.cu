// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_thread_per_list.cu: the loop over a list, by a thread.
//
// Idea   cpu.serial's inner loop for as many lists as there are threads. What is null is left out, as there.
// Cost   As many bytes as there are, in sectors that a warp's threads share where lists are short. Depth the longest list's.
// Needs  Any GPU.
// Limit  The threads of a warp read far from each other; the longest list of a warp keeps all its threads. A block per list
//        reads in order.
// From   Own.
#include "problems/lists/segmented_scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_scan {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<Way::thread_per_list>;
constexpr auto workspace = &workspace_of<Way::thread_per_list>;
#endif

extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "the loop, a list per thread",
                                                .needs = "any GPU",
                                                .traffic = "content in sectors, bounds",
                                                .cost = "n, the longest list",
                                                .limit = "scattered reads, the longest list"},
                                       .refusal = compiled_only,
                                       .run = launch,
                                       .workspace = workspace};

}  // namespace upsweep::impl::segmented_scan
