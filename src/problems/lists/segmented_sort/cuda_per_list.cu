// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_per_list.cu: a thread, a warp or a block sorts each list.
#include "problems/lists/segmented_sort/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_sort {

// cuda.thread_per_list: a thread inserts the elements of a list one after the other.
//
// Idea   Insertion sort, where the list goes: of positions by the elements that they stand for.
// Cost   Lists of m elements: m²/4 comparisons and moves in memory. Depth the longest list's.
// Needs  Any GPU.
// Limit  The threads of a warp read far from each other, the longest list of a warp keeps all its threads, and m². A warp per
//        list reads in order.
// From   Own.
extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "insertion sort, a list per thread",
                                                .needs = "any GPU",
                                                .traffic = "n read, n written, in sectors",
                                                .cost = "m²/4 comparisons, by one thread",
                                                .limit = "scattered reads, m², the longest list"},
                                       .run = launch_by<Way::thread_per_list>,
                                       .workspace = workspace_by<Way::thread_per_list>};

// cuda.warp_per_list: a warp counts for every element of a list how many come before it.
//
// Idea   The rank of an element is the number of those that are less, and of equal ones before it: 32 ranks at a time. Each
//        element is written where its rank says.
// Cost   Lists of m elements: m² comparisons by 32 lanes; no moves.
// Needs  Any GPU. A copy of the content, for sorts in place.
// Limit  m², and lanes that have nothing to do where lists have fewer than 32 elements. A block per list merges.
// From   D. E. Knuth, "The Art of Computer Programming", volume 3: comparison counting.
extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "ranks by counting, a list per warp",
                                              .needs = "any GPU",
                                              .traffic = "n read, n written",
                                              .cost = "m² comparisons by 32 lanes",
                                              .limit = "m², idle lanes of short lists"},
                                     .run = launch_by<Way::warp_per_list>,
                                     .workspace = workspace_by<Way::warp_per_list>};

// cuda.block_per_list: a block merge-sorts a list in shared memory, a longer one by runs that fit there.
//
// Idea   Eight elements per thread are sorted in registers, and runs merged two and two in shared memory, every thread writing
//        eight elements of a merge whose place in both runs it has searched for. Runs of 4,096 are merged in memory alike.
// Cost   Lists of m elements: log2(m/4096) passes over memory, m·log2 m comparisons.
// Needs  Any GPU. As much memory as the content, with positions twice that and 8 bytes for each element.
// Limit  A block has 512 threads, and 510 of them nothing to do in a list of 10 elements; a long list has one block.
//        cuda.tiles has blocks sort many lists at once, and many blocks merge one.
// From   O. Green, S. Odeh, Y. Birk, "Merge Path – A Visually Intuitive Approach to Parallel Merging", 2014.
extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "merge sort in shared memory, a list per block",
                                               .needs = "any GPU",
                                               .traffic = "n read, n written, per pass",
                                               .cost = "m·log2 m, by 512 threads",
                                               .limit = "idle threads of short lists; one block for the longest"},
                                      .run = launch_by<Way::block_per_list>,
                                      .workspace = workspace_by<Way::block_per_list>};

}  // namespace upsweep::impl::segmented_sort
