// SPDX-License-Identifier: Apache-2.0
// subset_sum/cuda_limits.hpp: how many items the CUDA rungs for few items take.
#pragma once

namespace upsweep::subset_sum {

/// cuda.slices: every block goes through all subsets of ten items, each against up to 2^10 sums of the others.
inline constexpr int kSlicesItems = 20;
/// cuda.two_list: 2^32 sums per half and as many again for the lists before, 103 GB in all.
inline constexpr int kTwoListItems = 64;

}  // namespace upsweep::subset_sum
