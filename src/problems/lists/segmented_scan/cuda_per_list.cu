// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_per_list.cu: a thread or a block scans each list.
#include "problems/lists/segmented_scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_scan {

// cuda.thread_per_list: one thread runs the loop over a list.
//
// Idea   cpu.serial's inner loop, with one thread per list. Nulls are left out, as in cpu.serial.
// Cost   Every byte once, in sectors that a warp's threads share if lists are short. Depth that of the longest list.
// Needs  Any GPU.
// Limit  The threads of a warp read addresses that are far apart. The longest list of a warp keeps all its threads.
//        cuda.block_per_list reads in order.
// From   Own.
extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "the loop, one thread per list",
                                                .needs = "any GPU",
                                                .traffic = "content in sectors, bounds",
                                                .cost = "n, the longest list",
                                                .limit = "scattered reads, the longest list"},
                                       .refusal = compiled_only,
                                       .run = launch_by<Way::thread_per_list>,
                                       .workspace = workspace_by<Way::thread_per_list>};

// cuda.block_per_list: one block scans a list, one element per thread at a time.
//
// Idea   Warps scan 32 elements by shuffles. The totals of the block's warps are folded in order. This fold is the
//        prefix of the next 256 elements.
// Cost   Bounds and content read, the same number of elements written. Depth m/256 for a list of m elements.
// Needs  Any GPU.
// Limit  A whole block for a list of three elements; only one block for the longest list. cuda.tiles gives every block
//        the same number of elements.
// From   W. D. Hillis, G. L. Steele, "Data Parallel Algorithms", 1986.
extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "scans of 256 elements at a time, one block per list",
                                               .needs = "any GPU",
                                               .traffic = kOnePass,
                                               .cost = "n, a 256th of the longest list",
                                               .limit = "idle threads with short lists"},
                                      .refusal = compiled_only,
                                      .run = launch_by<Way::block_per_list>,
                                      .workspace = workspace_by<Way::block_per_list>};

}  // namespace upsweep::impl::segmented_scan
