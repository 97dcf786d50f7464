// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_warp_per_list.cu: a warp copies a list.
//
// Idea   Lanes copy a list side by side, after a scan of the lengths.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Of lists with three elements 29 lanes have nothing to do; one long list is one warp's.
// From   Vector kernels of sparse matrices (Bell and Garland 2009).
#include "problems/lists/pack/cuda_per_list.cuh"

namespace upsweep::impl::pack {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<32>;
constexpr auto workspace = &layout_workspace;
#endif

extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "scan of lengths; a warp per list",
                                              .needs = "any GPU",
                                              .traffic = "n read, n written",
                                              .cost = "elements + 32 per list, the longest list / 32",
                                              .limit = "idle threads of short lists; one long list"},
                                     .run = launch,
                                     .workspace = workspace};

}  // namespace upsweep::impl::pack
