// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_tiles.cu: blocks scan tiles of as many elements, in which lists begin where they do.
//
// Idea   The pass of heads.cu checks the bounds and sets a bit where a list begins; empty lists leave no trace. A tile is
//        scanned by pairs: the fold since the last head, and whether there is one. What precedes a tile is known before:
//        its neighbour's elements from the last head on are folded first, which with short lists are a few. See
//        problems/lists/segmented_scan/cuda_tiles.cuh.
// Cost   Bounds read, a bit per element, content read and written; elements of lists that go on into another tile twice.
// Needs  Any GPU. A bit per element and 16 bytes per tile.
// Limit  With long lists content is read twice: half as much again as a copy.
// From   S. Sengupta, M. Harris, Y. Zhang, J. D. Owens, "Scan Primitives for GPU Computing", 2007.
#include "problems/lists/segmented_scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_scan {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<Way::tiles>;
constexpr auto workspace = &workspace_by<Way::tiles>;
#endif

extern const Rung cuda_tiles{.info = {.id = "cuda.tiles",
                                      .idea = "tiles of the content, heads of lists as bits",
                                      .needs = "any GPU",
                                      .traffic = kOnePass,
                                      .cost = "n, log n",
                                      .limit = "the memory; of long lists the second read"},
                             .refusal = heads_only,
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::segmented_scan
