// SPDX-License-Identifier: Apache-2.0
// tests/lists.hpp: lists to offset, their expected results (computed in 128 bits), and the check of the actual ones.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "failure.hpp"
#include "upsweep/error.hpp"

namespace upsweep::tests {

__extension__ using Int128 = __int128;

enum class ListPattern : std::uint8_t { random, packed, empty, huge, extremes };
inline constexpr ListPattern kListPatterns[] = {ListPattern::random, ListPattern::packed, ListPattern::empty,
                                                ListPattern::huge, ListPattern::extremes};

inline std::string_view name(ListPattern pattern) {
  constexpr std::string_view kNames[] = {"random", "packed", "empty", "huge", "extremes"};
  return kNames[static_cast<int>(pattern)];
}

template <class T>
struct Bounds {
  std::vector<T> starts;
  std::vector<T> stops;
};

/// Makes valid lists.
/// - random: in any order, overlapping, zero to nine elements
/// - packed: adjacent
/// - huge: one list of the type's full range among empty ones
/// - extremes: bounds at both ends of the type, total within int64
template <class T>
Bounds<T> make_lists(ListPattern pattern, std::int64_t n, unsigned seed = 1) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(seed);
  Bounds<T> lists{std::vector<T>(static_cast<std::size_t>(n)), std::vector<T>(static_cast<std::size_t>(n))};
  T end = 0;
  for (std::size_t i = 0; i < lists.starts.size(); ++i) {
    T& start = lists.starts[i];
    T& stop = lists.stops[i];
    start = static_cast<T>(random() % 1000000);
    const T few = static_cast<T>(random() % 10);
    switch (pattern) {
      case ListPattern::random:
        if constexpr (std::is_signed_v<T>) start -= T{500000};  // negative starts are valid unless strict
        stop = start + few;
        break;
      case ListPattern::packed:
        start = end;
        stop = end = start + few;
        break;
      case ListPattern::empty:
        stop = start;
        break;
      case ListPattern::huge:
        stop = start;
        if (static_cast<std::int64_t>(i) != n / 2) break;
        start = sizeof(T) == 8 ? T{0} : Limits::min();
        stop = Limits::max();
        break;
      case ListPattern::extremes:
        if constexpr (sizeof(T) == 8) {
          const T length = T{1} << 40;
          start = few % 2 == 0 ? Limits::min() : Limits::max() - length;
          stop = start + length;
        } else {
          start = few % 2 == 0 ? Limits::min() : Limits::max();
          stop = Limits::max();
        }
        break;
    }
  }
  return lists;
}

/// The expected outcome, and the specified offsets: all of them, or those up to the start of the invalid list.
struct ExpectedOffsets {
  Failure outcome;
  std::vector<std::int64_t> offsets;
};

template <class T>
ExpectedOffsets expected_offsets(const T* starts, const T* stops, std::int64_t n, bool strict = false,
                                 std::int64_t before = 0) {
  constexpr Int128 kMost = std::numeric_limits<std::int64_t>::max();
  ExpectedOffsets expected{{}, {before}};
  Int128 offset = before;
  for (std::int64_t i = 0; i < n; ++i) {
    const Int128 length = Int128{stops[i]} - Int128{starts[i]};
    offset += length;
    if (length < 0) {
      expected.outcome = {Code::stop_before_start, i};
    } else if (strict && starts[i] < T{0}) {
      expected.outcome = {Code::negative_start, i};
    } else if (length > kMost || offset > kMost) {
      expected.outcome = {Code::overflow, i};
    } else {
      expected.offsets.push_back(static_cast<std::int64_t>(offset));
      continue;
    }
    break;
  }
  return expected;
}

/// Returns the error in an outcome and the written offsets, or an empty string.
inline std::string complaint(const ExpectedOffsets& expected, const Failure& found, const std::int64_t* offsets) {
  const auto text = [](const Failure& outcome) {
    return std::string(word(outcome.code)) + " at list " + std::to_string(outcome.index);
  };
  if (found.code != expected.outcome.code || found.index != expected.outcome.index) {
    return text(found) + " instead of " + text(expected.outcome);
  }
  for (std::int64_t i = 0; i < std::ssize(expected.offsets); ++i) {
    const std::int64_t right = expected.offsets[static_cast<std::size_t>(i)];
    if (offsets[i] != right) {
      return "offset " + std::to_string(i) + " is " + std::to_string(offsets[i]) + ", not " + std::to_string(right);
    }
  }
  return "";
}

}  // namespace upsweep::tests
