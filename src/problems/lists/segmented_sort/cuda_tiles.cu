// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_tiles.cu: blocks sort tiles of whole lists, however many these are; long lists in passes of merges.
//
// Idea   The pass that checks the bounds sets a bit where a list begins: a list is then a run of zeros, and empty ones are
//        gone. A block sorts the lists that begin in its 1,920 elements all at once: eight elements per thread in registers,
//        never across a head, then runs two and two, of which only a list that goes on from one to the next is merged.
//        Lists of more than 2,176 elements are in no tile: their runs of 4,096 are sorted and merged by all blocks.
// Cost   Bounds read, a bit per element, n read and written; of lists of m > 4,096 elements log2(m/4096) times more.
// Needs  Any GPU. As much memory as the content and a bit per element, with positions twice that and 8 bytes for each.
// Limit  Of short lists the barriers of eight widths of merges; of long ones the passes, where a radix sort has fewer.
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
                                                                             : "takes fewer than 2^37 elements";
}

}  // namespace

extern const Rung cuda_tiles{.info = {.id = "cuda.tiles",
                                      .idea = "tiles of whole lists per block; long lists merged",
                                      .needs = "any GPU",
                                      .traffic = "n read, n written, per pass",
                                      .cost = "m·log2 m; of m > 4,096 by all blocks, log2(m/4096) passes",
                                      .limit = "of short lists barriers, of long ones the passes"},
                             .refusal = tiles_refusal,
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::segmented_sort
