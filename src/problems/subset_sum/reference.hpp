// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/reference.hpp: the reference answer that every rung of a subset sum is checked against.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace upsweep::impl::subset_sum {

/// Returns expected[i]: whether some of the items add up to i, for i in 0 … limit.
inline std::vector<std::uint8_t> expected_sums(const std::vector<std::int64_t>& items, std::int64_t limit) {
  const auto count = static_cast<std::size_t>(limit) + 1;
  std::vector<std::uint8_t> without(count);
  without[0] = 1;
  std::vector<std::uint8_t> with = without;
  for (const std::int64_t item : items) {
    for (std::size_t i = static_cast<std::size_t>(std::min(item, limit + 1)); i < count; ++i) {
      with[i] = without[i] | without[i - static_cast<std::size_t>(item)];
    }
    without = with;
  }
  return with;
}

/// Returns the first sum whose bit is wrong, also past the limit, or -1.
inline std::int64_t first_wrong(const std::vector<std::uint8_t>& expected, const std::uint64_t* sums) {
  const auto limit = static_cast<std::int64_t>(expected.size()) - 1;
  for (std::int64_t i = 0; i < (limit / 64 + 1) * 64; ++i) {
    const bool wanted = i <= limit && expected[static_cast<std::size_t>(i)] != 0;
    if ((sums[i / 64] >> (i % 64) & 1) != (wanted ? 1U : 0U)) return i;
  }
  return -1;
}

}  // namespace upsweep::impl::subset_sum
