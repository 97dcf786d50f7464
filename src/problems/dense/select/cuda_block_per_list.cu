// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cuda_block_per_list.cu: a block counts what its list keeps, and moves it once the counts are scanned.
//
// Idea   As cuda.warp_per_list, with 256 threads.
// Cost   The mask twice, the content once; 16 bytes per list for offsets and 32 for their scan.
// Needs  Any GPU.
// Limit  Short lists leave most threads with nothing to do; two barriers for 256 elements.
// From   As cuda.warp_per_list.
#include "problems/dense/select/cuda_per_list.cuh"

namespace upsweep::impl::select {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<256>;
constexpr auto workspace = &workspace_by<256>;
#endif

extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "a block per list: votes, scan, move",
                                               .needs = "any GPU",
                                               .traffic = "mask twice, n read, kept written",
                                               .cost = "2n + 256 per list, the longest list / 256",
                                               .limit = "idle threads of short lists; one long list"},
                                      .run = launch,
                                      .workspace = workspace};

}  // namespace upsweep::impl::select
