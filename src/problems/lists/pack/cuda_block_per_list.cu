// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_block_per_list.cu: a block copies a list.
//
// Idea   As cuda.warp_per_list, with 256 threads.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Short lists leave most threads with nothing to do; one list of everything is one block's.
// From   As cuda.warp_per_list.
#include "problems/lists/pack/cuda_per_list.cuh"

namespace upsweep::impl::pack {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<256>;
constexpr auto workspace = &layout_workspace;
#endif

extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "scan of lengths; a block per list",
                                               .needs = "any GPU",
                                               .traffic = "n read, n written",
                                               .cost = "elements + 256 per list, the longest list / 256",
                                               .limit = "idle threads of short lists; one long list"},
                                      .run = launch,
                                      .workspace = workspace};

}  // namespace upsweep::impl::pack
