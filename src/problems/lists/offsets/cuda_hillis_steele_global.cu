// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_hillis_steele_global.cu: differences first, then a double-buffered scan with one launch
// per stride.
//
// Idea   Scan's cuda.hillis_steele_global, after a kernel that checks the lists and writes their lengths.
// Cost   24 bytes per list of int64, then 16 per list and round, log2 n rounds. Work n·log2 n, depth log2 n.
// Needs  Any GPU; a second array of offsets.
// Limit  Memory traffic: 28 passes for 10^8 lists.
// From   The double-buffered scan of "scanCUDA" (A. Biswas 2020).
#include "problems/lists/offsets/cuda_lists.cuh"

namespace upsweep::impl::offsets {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::Rounds>;
constexpr auto workspace = &scratch_of<gpu::Rounds>;
#endif

extern const Rung cuda_hillis_steele_global{.info = {.id = "cuda.hillis_steele_global",
                                                     .idea = "differences, then strides over the whole array",
                                                     .needs = "any GPU; a second array of offsets",
                                                     .traffic = "2n read, n written, n·log2 n both ways",
                                                     .cost = "n·log n, log n",
                                                     .limit = "memory traffic"},
                                            .run = launch,
                                            .workspace = workspace};

}  // namespace upsweep::impl::offsets
