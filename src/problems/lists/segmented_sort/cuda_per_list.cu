// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_per_list.cu: a thread, a warp or a block sorts each list.
#include "problems/lists/segmented_sort/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_sort {

// cuda.thread_per_list: one thread inserts the elements of a list one after the other.
//
// Idea   Insertion sort in the output. Positions are compared by the elements that they refer to.
// Cost   Lists of m elements: m²/4 comparisons and moves in memory. Depth that of the longest list.
// Needs  Any GPU.
// Limit  The threads of a warp read addresses that are far apart. The longest list of a warp keeps all its threads. The
//        work is m². cuda.warp_per_list reads in order.
// From   Own.
extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "insertion sort, one thread per list",
                                                .needs = "any GPU",
                                                .traffic = "n read, n written, in sectors",
                                                .cost = "m²/4 comparisons, by one thread",
                                                .limit = "scattered reads, m², the longest list"},
                                       .run = launch_by<Way::thread_per_list>,
                                       .workspace = workspace_by<Way::thread_per_list>};

// cuda.warp_per_list: for every element of a list, a warp counts the elements before it in the sorted order.
//
// Idea   The rank of an element is the number of smaller elements, plus the number of equal elements before it. A warp
//        computes 32 ranks at a time. Each element is written to the position of its rank.
// Cost   Lists of m elements: m² comparisons by 32 lanes; no moves.
// Needs  Any GPU. A copy of the content, for sorts in place.
// Limit  m², and idle lanes with lists of fewer than 32 elements. cuda.block_per_list merges.
// From   D. E. Knuth, "The Art of Computer Programming", volume 3: comparison counting.
extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "ranks by counting, one warp per list",
                                              .needs = "any GPU",
                                              .traffic = "n read, n written",
                                              .cost = "m² comparisons by 32 lanes",
                                              .limit = "m², idle lanes with short lists"},
                                     .run = launch_by<Way::warp_per_list>,
                                     .workspace = workspace_by<Way::warp_per_list>};

// cuda.block_per_list: one block merge-sorts a list in shared memory; longer lists are sorted in runs that fit there.
//
// Idea   Each thread sorts eight elements in registers. Runs are merged in pairs in shared memory: every thread
//        searches its position in both runs and writes eight elements of the merge. Runs of 4,096 are merged in global
//        memory in the same way.
// Cost   Lists of m elements: log2(m/4096) passes over memory, m·log2 m comparisons.
// Needs  Any GPU. Memory of the size of the content; with positions, twice that and 8 bytes per element.
// Limit  A block has 512 threads; with a list of 10 elements, 510 of them are idle. A long list has only one block. In
//        cuda.tiles, a block sorts many lists at once, and many blocks merge one list.
// From   O. Green, S. Odeh, Y. Birk, "Merge Path – A Visually Intuitive Approach to Parallel Merging", 2014.
extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "merge sort in shared memory, one block per list",
                                               .needs = "any GPU",
                                               .traffic = "n read, n written, per pass",
                                               .cost = "m·log2 m, by 512 threads",
                                               .limit = "idle threads with short lists; one block for the longest"},
                                      .run = launch_by<Way::block_per_list>,
                                      .workspace = workspace_by<Way::block_per_list>};

}  // namespace upsweep::impl::segmented_sort
