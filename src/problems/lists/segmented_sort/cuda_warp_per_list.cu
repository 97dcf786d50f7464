// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_warp_per_list.cu: a warp counts for every element of a list how many come before it.
//
// Idea   The rank of an element is the number of those that are less, and of equal ones before it: 32 ranks at a time. Each
//        element is written where its rank says.
// Cost   Lists of m elements: m² comparisons by 32 lanes; no moves.
// Needs  Any GPU. A copy of the content, for sorts in place.
// Limit  m², and lanes that have nothing to do where lists have fewer than 32 elements. A block per list merges.
// From   D. E. Knuth, "The Art of Computer Programming", volume 3: comparison counting.
#include "problems/lists/segmented_sort/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_sort {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<Way::warp_per_list>;
constexpr auto workspace = &workspace_of<Way::warp_per_list>;
#endif

extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "ranks by counting, a list per warp",
                                              .needs = "any GPU",
                                              .traffic = "n read, n written",
                                              .cost = "m² comparisons by 32 lanes",
                                              .limit = "m², idle lanes of short lists"},
                                     .run = launch,
                                     .workspace = workspace};

}  // namespace upsweep::impl::segmented_sort
