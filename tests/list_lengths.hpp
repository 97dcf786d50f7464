// SPDX-License-Identifier: Apache-2.0
// tests/list_lengths.hpp: lengths of lists in the patterns that operations on lists are tested with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

namespace upsweep::tests {

enum class LengthPattern : std::uint8_t { poisson, fixed3, fixed32, fixed1000, zero_to_4, empty, one, giants, around };
inline constexpr LengthPattern kLengthPatterns[] = {
    LengthPattern::poisson,   LengthPattern::fixed3,    LengthPattern::fixed32,
    LengthPattern::fixed1000, LengthPattern::zero_to_4, LengthPattern::empty,
    LengthPattern::one,       LengthPattern::giants,    LengthPattern::around};

inline std::string_view name(LengthPattern pattern) {
  constexpr std::string_view kNames[] = {"poisson", "fixed3", "fixed32", "fixed1000", "0to4",
                                         "empty",   "one",    "giants",  "around"};
  return kNames[static_cast<int>(pattern)];
}

/// Makes lengths that add up to about `elements`. For `empty`, this is the number of lists.
/// - giants: two lists of a third of the elements, among empty lists and lists of one
/// - around: lengths around vectors, stages and chunks
inline std::vector<std::int64_t> make_lengths(LengthPattern pattern, std::int64_t elements, unsigned seed = 2) {
  std::mt19937_64 random(seed);
  std::poisson_distribution<std::int64_t> poisson(3);
  constexpr std::int64_t kAround[] = {0,  1,  7,  8,  9,   15,  16,  17,  31,  32, 33,
                                      63, 64, 65, 66, 127, 128, 129, 511, 512, 513};
  if (pattern == LengthPattern::empty) return std::vector<std::int64_t>(static_cast<std::size_t>(elements));
  std::vector<std::int64_t> lengths;
  for (std::int64_t sum = 0; sum < elements;) {
    const auto i = std::ssize(lengths);
    const std::int64_t length = pattern == LengthPattern::poisson     ? poisson(random)
                                : pattern == LengthPattern::fixed3    ? 3
                                : pattern == LengthPattern::fixed32   ? 32
                                : pattern == LengthPattern::fixed1000 ? 1000
                                : pattern == LengthPattern::zero_to_4 ? static_cast<std::int64_t>(random() % 5)
                                : pattern == LengthPattern::one       ? elements
                                : pattern == LengthPattern::giants
                                    ? (i == 5 || i == 700 ? elements / 3 : static_cast<std::int64_t>(random() % 2))
                                    : kAround[random() % std::size(kAround)];
    lengths.push_back(length);
    sum += length;
  }
  return lengths;
}

}  // namespace upsweep::tests
