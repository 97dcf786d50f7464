// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_tiles.cu: blocks scan tiles of equal size, in which lists may begin anywhere.
//
// Idea   The pass of heads.cu checks the bounds and sets a bit at the head of each list; empty lists set none. A tile
//        is scanned by pairs: the fold since the last head, and whether there is a head. The prefix of a tile is
//        computed in advance: the elements of the tile before it are folded from the last head on. With short lists,
//        these are a few elements. See problems/lists/segmented_scan/cuda_tiles.cuh.
// Cost   Bounds read, a bit per element, content read and written; elements of lists that extend into another tile are
//        read twice.
// Needs  Any GPU. A bit per element and 16 bytes per tile.
// Limit  With long lists, content is read twice: 1.5 times the traffic of a copy.
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
                                      .limit = "memory bandwidth; for long lists the second read"},
                             .refusal = heads_only,
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::segmented_scan
