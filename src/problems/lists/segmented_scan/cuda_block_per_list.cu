// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_block_per_list.cu: a block scans a list, an element per thread at a time.
//
// Idea   Warps scan 32 elements by shuffles, the warps' totals are folded in order, and what all came to precedes the next
//        256 elements.
// Cost   Bounds and content read, as much content written. Depth of a list of m elements m/256.
// Needs  Any GPU.
// Limit  A block for a list of three elements; one block for the longest. cuda.tiles gives every block as many elements.
// From   W. D. Hillis, G. L. Steele, "Data Parallel Algorithms", 1986.
#include "problems/lists/segmented_scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_scan {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<Way::block_per_list>;
constexpr auto workspace = &workspace_of<Way::block_per_list>;
#endif

extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "scans of 256 elements at a time, a list per block",
                                               .needs = "any GPU",
                                               .traffic = kOnePass,
                                               .cost = "n, a 256th of the longest",
                                               .limit = "idle threads of short lists"},
                                      .refusal = compiled_only,
                                      .run = launch,
                                      .workspace = workspace};

}  // namespace upsweep::impl::segmented_scan
