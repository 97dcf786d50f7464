// SPDX-License-Identifier: Apache-2.0
// subset_sum/limits.hpp: how many items the rungs take whose work doubles with every one.
#pragma once

#include <cstdint>

namespace upsweep::subset_sum {

/// cpu.enumerate: 2^30 sums are a second.
inline constexpr std::int64_t kMostEnumerated = 30;
/// cpu.meet_in_the_middle and cuda.two_list: 2^33 sums a list are 69 GB.
inline constexpr std::int64_t kMostInLists = 66;
/// cpu.schroeppel_shamir: its 2^36 pairs take minutes.
inline constexpr std::int64_t kMostByResidues = 72;

}  // namespace upsweep::subset_sum
