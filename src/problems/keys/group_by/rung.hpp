// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/rung.hpp: what the rungs' files need to declare their rows of the ladder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/ladder.hpp"
#include "cuda/compiled.hpp"
#include "upsweep/detail/group_by_call.hpp"

namespace upsweep::impl::group_by {

using Call = detail::GroupByCall;
/// A rung sets Call::groups. If there are more groups than outputs have capacity for, it writes nothing and returns
/// unequal_lengths. If a checked sum does not fit, it sets Call::bad_row and returns overflow, with the group as index.
using Rung = upsweep::Rung<Call>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// Returns the number of groups that the outputs have capacity for.
inline std::int64_t capacity_of(const Call& call) {
  const std::int64_t capacity = std::min(call.keys_capacity, call.capacity);
  return call.out_counts != nullptr ? std::min(capacity, call.counts_capacity) : capacity;
}

/// Returns null if one table can number the groups of this number of rows, and otherwise the reason why not.
inline const char* one_table_refusal(const Call& call, const Policy&) noexcept {
  if (call.n <= std::numeric_limits<std::uint32_t>::max()) return nullptr;
  return "one table numbers groups in 32 bits: use cpu.partitioned, which has many tables";
}

inline constexpr const char* kOnePass = "keys and values read, groups written";

}  // namespace upsweep::impl::group_by
