// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cuda_warp_per_list.cu: a warp counts what its list keeps by votes, and moves it once the counts are scanned.
//
// Idea   Lanes read a list side by side; a vote tells each lane its place.
// Cost   The mask twice, the content once; 16 bytes per list for offsets and 32 for their scan.
// Needs  Any GPU.
// Limit  Of lists with three elements 29 lanes have nothing to do; one long list is one warp's.
// From   Vector kernels of sparse matrices (Bell and Garland 2009).
#include "problems/dense/select/cuda_per_list.cuh"

namespace upsweep::impl::select {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<32>;
constexpr auto workspace = &workspace_by<32>;
#endif

extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "a warp per list: votes, scan, move",
                                              .needs = "any GPU",
                                              .traffic = "mask twice, n read, kept written",
                                              .cost = "2n + 32 per list, the longest list / 32",
                                              .limit = "idle threads of short lists; one long list"},
                                     .run = launch,
                                     .workspace = workspace};

}  // namespace upsweep::impl::select
