// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_block_per_list.cu: a block merge-sorts a list in shared memory, a longer one by runs that fit there.
//
// Idea   Eight elements per thread are sorted in registers, and runs merged two and two in shared memory, every thread writing
//        eight elements of a merge whose place in both runs it has searched for. Runs of 4,096 are merged in memory alike.
// Cost   Lists of m elements: log2(m/4096) passes over memory, m·log2 m comparisons.
// Needs  Any GPU. As much memory as the content, with positions twice that and 8 bytes for each element.
// Limit  A block has 512 threads, and 510 of them nothing to do in a list of 10 elements; a long list has one block.
//        cuda.tiles has blocks sort many lists at once, and many blocks merge one.
// From   O. Green, S. Odeh, Y. Birk, "Merge Path – A Visually Intuitive Approach to Parallel Merging", 2014.
#include "problems/lists/segmented_sort/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_sort {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<Way::block_per_list>;
constexpr auto workspace = &workspace_of<Way::block_per_list>;
#endif

extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "merge sort in shared memory, a list per block",
                                               .needs = "any GPU",
                                               .traffic = "n read, n written, per pass",
                                               .cost = "m·log2 m, by 512 threads",
                                               .limit = "idle threads of short lists; one block for the longest"},
                                      .run = launch,
                                      .workspace = workspace};

}  // namespace upsweep::impl::segmented_sort
