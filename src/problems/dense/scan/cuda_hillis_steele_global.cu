// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_hillis_steele_global.cu: Hillis and Steele's rounds over the whole array, one launch each.
//
// Idea   A launch is a barrier for the whole device. Round k is a kernel that reads one copy of the array and writes
//        the other.
// Cost   1 + log2 n passes, each n read and n written. Work n·log2 n, depth log2 n.
// Needs  Any GPU; a second copy of the array.
// Limit  Memory traffic: 28 passes for 2^28 elements. cuda.hillis_steele_blocks does the short strides in shared
//        memory.
// From   The double-buffered scan of "scanCUDA" (A. Biswas 2020); Hillis and Steele, CACM 29 (1986).
#include "problems/dense/scan/cuda_elements.cuh"

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::Rounds>;
constexpr auto workspace = &scratch_of<gpu::Rounds>;
#endif

extern const Rung cuda_hillis_steele_global{.info = {.id = "cuda.hillis_steele_global",
                                                     .idea = "strides over the whole array, a launch for each",
                                                     .needs = "any GPU; a copy of the array",
                                                     .traffic = "n·(1 + log2 n) read and written",
                                                     .cost = "n·log n, log n",
                                                     .limit = "the traffic",
                                                     .float_bound = kTreeBound},
                                            .refusal = taught,
                                            .run = launch,
                                            .workspace = workspace};

}  // namespace upsweep::impl::scan
