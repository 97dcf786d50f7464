// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_hillis_steele_blocks.cu: blocks run the rounds on their own tiles; totals are added back.
//
// Idea   cuda.hillis_steele on all tiles at the same time. The prefixes of the tiles are the scan of the tiles' totals.
//        The same rung scans the totals, recursively: 2^28 elements have 2^18 totals, these totals have 2^8 totals, and
//        2^8 totals are one tile.
// Cost   n read, n written, then n read and written again to add the totals back: 4n. Work n·log2 tile, depth log2 n.
// Needs  Any GPU; a 1023rd of the array for totals.
// Limit  The second pass, log2 tile additions per element, a barrier per round. cuda.blelloch adds twice per element,
//        cuda.shuffle needs few barriers, cuda.lookback no second pass.
// From   "Implementing by hand" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020); "Parallel Prefix
//        Scan".
#include "problems/dense/scan/cuda_elements.cuh"

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
constexpr auto launch = &launch_by<gpu::Blocks<gpu::HillisSteeleTiles>>;
constexpr auto workspace = &scratch_of<gpu::Blocks<gpu::HillisSteeleTiles>>;
#endif

extern const Rung cuda_hillis_steele_blocks =
    tiles_rung("cuda.hillis_steele_blocks", "strides within blocks, totals scanned, added back", "n·log T, log n",
               "the second pass, a barrier per round", launch, workspace);

}  // namespace upsweep::impl::scan
