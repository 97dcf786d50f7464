// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_thread_per_list.cu: a thread inserts the elements of a list one after the other.
//
// Idea   Insertion sort, where the list goes: of positions by the elements that they stand for.
// Cost   Lists of m elements: m²/4 comparisons and moves in memory. Depth the longest list's.
// Needs  Any GPU.
// Limit  The threads of a warp read far from each other, the longest list of a warp keeps all its threads, and m². A warp per
//        list reads in order.
// From   Own.
#include "problems/lists/segmented_sort/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_sort {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<Way::thread_per_list>;
constexpr auto workspace = &workspace_of<Way::thread_per_list>;
#endif

extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "insertion sort, a list per thread",
                                                .needs = "any GPU",
                                                .traffic = "n read, n written, in sectors",
                                                .cost = "m²/4 comparisons, by one thread",
                                                .limit = "scattered reads, m², the longest list"},
                                       .run = launch,
                                       .workspace = workspace};

}  // namespace upsweep::impl::segmented_sort
