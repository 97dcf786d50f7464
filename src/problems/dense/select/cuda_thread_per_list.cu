// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cuda_thread_per_list.cu: a thread counts what its list keeps, and moves it once the counts are scanned.
//
// Idea   The reference loop's lists as threads. Without lists, a thread per element, which goes to its rank.
// Cost   The mask twice, the content once; 16 bytes per list for offsets and 32 for their scan.
// Needs  Any GPU.
// Limit  Neighbouring threads read apart from each other; one long list is one thread's.
// From   How Awkward Array's CUDA kernels are written, a thread per list.
#include "problems/dense/select/cuda_per_list.cuh"

namespace upsweep::impl::select {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<1>;
constexpr auto workspace = &workspace_by<1>;
#endif

extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "a thread per list: count, scan, move",
                                                .needs = "any GPU",
                                                .traffic = "mask twice, n read, kept written",
                                                .cost = "2n, the longest list",
                                                .limit = "accesses apart from each other; one long list"},
                                       .run = launch,
                                       .workspace = workspace};

}  // namespace upsweep::impl::select
