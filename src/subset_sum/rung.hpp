// SPDX-License-Identifier: Apache-2.0
// subset_sum/rung.hpp: what the files of the subset-sum ladder's rungs declare their rows with.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/subset_sum_call.hpp"

namespace upsweep::subset_sum {

using Rung = upsweep::Rung<detail::SubsetSumCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

inline constexpr const char* kByteTraffic = "3 bytes per sum and item";
inline constexpr const char* kBitTraffic = "3 bits per sum and item";

inline bool is_exact(const detail::SubsetSumCall& call) { return call.below == 0 && call.above == 0; }

inline const char* fills_refusal(const detail::SubsetSumCall& call) noexcept {
  return call.sums != nullptr ? "decides about one target: it fills no bitmap" : nullptr;
}

}  // namespace upsweep::subset_sum
