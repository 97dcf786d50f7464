// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_hillis_steele_blocks.cu: scans lengths in blocks by strides 1, 2, 4, …, then adds the
// totals of the blocks before.
//
// Idea   Scan's cuda.hillis_steele_blocks. A list is checked when its length is computed.
// Cost   16 bytes read and 8 written per list of int64, then 8 read and written again. Work n·log2 1024, depth log2 n.
// Needs  Any GPU; 8 bytes of scratch per 1024 lists.
// Limit  The second pass, and a barrier per round.
// From   "Implementing by hand" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020). Here, a bad list
//        makes every later offset negative, and a search finds the first negative one.
#include "problems/lists/offsets/cuda_lists.cuh"

namespace upsweep::impl::offsets {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::Blocks<gpu::HillisSteeleTiles>>;
constexpr auto workspace = &scratch_of<gpu::Blocks<gpu::HillisSteeleTiles>>;
#endif

extern const Rung cuda_hillis_steele_blocks{.info = {.id = "cuda.hillis_steele_blocks",
                                                     .idea = "strides within blocks, totals scanned, added back",
                                                     .needs = "any GPU",
                                                     .traffic = "3n read, 2n written",
                                                     .cost = "n·log 1024, log n",
                                                     .limit = "the second pass, a barrier per round"},
                                            .run = launch,
                                            .workspace = workspace};

}  // namespace upsweep::impl::offsets
