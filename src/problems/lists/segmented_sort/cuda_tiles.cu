// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_tiles.cu: blocks sort tiles of whole lists, of any number; long lists are merged
// in passes.
//
// Idea   The pass that checks the bounds sets a bit where a list begins. Empty lists set none. A block sorts at once
//        all lists that begin in its 1,920 elements. Each thread sorts eight elements in registers, never across a
//        head. Then runs are merged in pairs; only a list that extends from one run to the next is merged. Lists of
//        more than 2,176 elements are in no tile: all blocks sort and merge their runs of 4,096.
// Cost   Bounds read, a bit per element, n read and written; for lists of m > 4,096 elements log2(m/4096) more times.
// Needs  Any GPU. Memory of the size of the content and a bit per element; with positions, twice that and 8 bytes per
//        element.
// Limit  For short lists, the barriers of eight widths of merges. For long lists, the passes: a radix sort has fewer.
// From   S. Baxter's moderngpu: segmented sort; O. Green, S. Odeh, Y. Birk, "Merge Path", 2014.
#include "cuda/list_facts.hpp"
#include "problems/lists/segmented_sort/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_sort {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<Way::tiles>;
constexpr auto workspace = &workspace_by<Way::tiles>;
#endif

namespace {

const char* tiles_refusal(const Call& call, const Policy&) noexcept {
  return gpu::fits_heads(call.lists.are_adjacent() ? call.n : call.capacity) ? nullptr
                                                                             : "supports fewer than 2^37 elements";
}

}  // namespace

extern const Rung cuda_tiles{.info = {.id = "cuda.tiles",
                                      .idea = "tiles of whole lists per block; long lists merged",
                                      .needs = "any GPU",
                                      .traffic = "n read, n written, per pass",
                                      .cost = "m·log2 m; m > 4,096: all blocks, log2(m/4096) passes",
                                      .limit = "barriers with short lists, passes with long ones"},
                             .refusal = tiles_refusal,
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::segmented_sort
