// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_per_list.cu: a thread or a block scans each list.
#include "problems/lists/segmented_scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_scan {

// cuda.thread_per_list: the loop over a list, by a thread.
//
// Idea   cpu.serial's inner loop for as many lists as there are threads. What is null is left out, as there.
// Cost   As many bytes as there are, in sectors that a warp's threads share where lists are short. Depth the longest list's.
// Needs  Any GPU.
// Limit  The threads of a warp read far from each other; the longest list of a warp keeps all its threads. A block per list
//        reads in order.
// From   Own.
extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "the loop, a list per thread",
                                                .needs = "any GPU",
                                                .traffic = "content in sectors, bounds",
                                                .cost = "n, the longest list",
                                                .limit = "scattered reads, the longest list"},
                                       .refusal = compiled_only,
                                       .run = launch_by<Way::thread_per_list>,
                                       .workspace = workspace_by<Way::thread_per_list>};

// cuda.block_per_list: a block scans a list, an element per thread at a time.
//
// Idea   Warps scan 32 elements by shuffles, the warps' totals are folded in order, and what all came to precedes the next
//        256 elements.
// Cost   Bounds and content read, as much content written. Depth of a list of m elements m/256.
// Needs  Any GPU.
// Limit  A block for a list of three elements; one block for the longest. cuda.tiles gives every block as many elements.
// From   W. D. Hillis, G. L. Steele, "Data Parallel Algorithms", 1986.
extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "scans of 256 elements at a time, a list per block",
                                               .needs = "any GPU",
                                               .traffic = kOnePass,
                                               .cost = "n, a 256th of the longest",
                                               .limit = "idle threads of short lists"},
                                      .refusal = compiled_only,
                                      .run = launch_by<Way::block_per_list>,
                                      .workspace = workspace_by<Way::block_per_list>};

}  // namespace upsweep::impl::segmented_scan
