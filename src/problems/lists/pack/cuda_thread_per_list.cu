// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_thread_per_list.cu: a thread copies a list.
//
// Idea   The reference loop's lists as threads, after a scan of their lengths.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Neighbouring threads read and write apart from each other; one long list is one thread's.
// From   How Awkward Array's CUDA kernels are written, a thread per list.
#include "problems/lists/pack/cuda_per_list.cuh"

namespace upsweep::impl::pack {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<1>;
constexpr auto workspace = &layout_workspace;
#endif

extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "scan of lengths; a thread per list",
                                                .needs = "any GPU",
                                                .traffic = "n read, n written",
                                                .cost = "lists + elements, the longest list",
                                                .limit = "accesses apart from each other; one long list"},
                                       .run = launch,
                                       .workspace = workspace};

}  // namespace upsweep::impl::pack
