// SPDX-License-Identifier: Apache-2.0
// tests/rows.hpp: columns of rows, and limits on their keys, for the tests of every rung of the filtered-sum ladder.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "problems/dense/filtered_sum/reference.hpp"

namespace upsweep::tests {

struct Rows {
  std::vector<std::uint32_t> key;
  std::vector<std::int64_t> quantity;
  std::vector<std::int64_t> price;

  [[nodiscard]] std::int64_t count() const { return std::ssize(key); }
  [[nodiscard]] std::int64_t sum(std::uint32_t limit) const {
    return impl::filtered_sum::expected_sum(key.data(), quantity.data(), price.data(), count(), limit);
  }
};

enum class RowPattern : std::uint8_t {
  lineitem,  ///< keys 1 … 10000, as TPC-H's suppliers
  extremes,  ///< keys 0, 1, 2^31 and 2^32-1; payload at the ends of its type
  runs,      ///< a few thousand rows that are kept, then the same number that are not
  sorted,    ///< keys that grow with the row
};
inline constexpr RowPattern kRowPatterns[] = {RowPattern::lineitem, RowPattern::extremes, RowPattern::runs,
                                              RowPattern::sorted};

inline std::string_view name(RowPattern pattern) {
  constexpr std::string_view kNames[] = {"lineitem", "extremes", "runs", "sorted"};
  return kNames[static_cast<int>(pattern)];
}

/// No row, only key 0, some rows of every pattern, all rows of most patterns, and all rows except keys of 2^32-1.
inline constexpr std::uint32_t kLimits[] = {0, 1, 30, 2000, 10001, 0x80000001U, 0xFFFFFFFFU};

inline Rows make_rows(RowPattern pattern, std::int64_t n, unsigned seed = 1) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::mt19937_64 random(seed);
  Rows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random();
    const auto number = static_cast<std::int64_t>(random());
    if (pattern == RowPattern::extremes) {
      constexpr std::uint32_t kKeys[] = {0, 1, 0x80000000U, 0xFFFFFFFFU};
      rows.key.push_back(kKeys[bits % 4]);
      rows.quantity.push_back((bits & 16U) != 0 ? Limits::min() : Limits::max());
      rows.price.push_back((bits & 32U) != 0 ? number : (bits & 64U) != 0 ? Limits::min() : std::int64_t{-1});
      continue;
    }
    const auto row = static_cast<std::uint64_t>(i);
    rows.key.push_back(static_cast<std::uint32_t>(pattern == RowPattern::lineitem ? 1 + bits % 10000
                                                  : pattern == RowPattern::runs   ? row / 5000 % 2 * 3000 + bits % 30
                                                                                  : row / 7));
    // All products differ, so that no row can be mistaken for the adjacent one.
    rows.quantity.push_back(static_cast<std::int64_t>(bits % 50) + 1);
    rows.price.push_back(number >> 20);
  }
  return rows;
}

}  // namespace upsweep::tests
