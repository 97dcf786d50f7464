// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/reference.hpp: the reference answer that every rung of a segmented sort is checked
// against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "upsweep/error.hpp"

namespace upsweep::impl::segmented_sort {

/// Returns whether a must be before b; false if they are equal.
template <class T>
bool is_less(T a, T b, bool descending, bool nan_first) {
  const bool a_is_nan = !(a == a);
  const bool b_is_nan = !(b == b);
  if (a_is_nan && b_is_nan) return false;
  if (a_is_nan) return nan_first;
  if (b_is_nan) return !nan_first;
  return descending ? a > b : a < b;
}

/// Returns the sorted positions of n elements: halves are sorted and merged.
template <class T>
std::vector<std::int64_t> expected_positions(const T* elements, std::int64_t first, std::int64_t n, bool descending,
                                             bool nan_first) {
  if (n <= 1) return std::vector<std::int64_t>(static_cast<std::size_t>(n), first);
  const auto left = expected_positions(elements, first, n / 2, descending, nan_first);
  const auto right = expected_positions(elements, first + n / 2, n - n / 2, descending, nan_first);
  std::vector<std::int64_t> merged;
  merged.reserve(static_cast<std::size_t>(n));
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.size() || r < right.size()) {
    const bool take_right =
        l == left.size() || (r < right.size() && is_less(elements[right[r]], elements[left[l]], descending, nan_first));
    merged.push_back(take_right ? right[r++] : left[l++]);
  }
  return merged;
}

inline bool same_bytes(const void* a, const void* b, std::size_t bytes) {
  return bytes == 0 || std::memcmp(a, b, bytes) == 0;
}

/// Returns the first wrong element of a list's output, or kNoIndex. Either output may be null.
template <class T>
std::int64_t first_wrong(const T* list, std::int64_t n, bool descending, bool nan_first, const T* sorted,
                         const std::int64_t* positions) {
  const auto expected = expected_positions(list, 0, n, descending, nan_first);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t right = expected[static_cast<std::size_t>(i)];
    if (sorted != nullptr && !same_bytes(sorted + i, list + right, sizeof(T))) return i;  // NaN and -0.0 by their bits
    if (positions != nullptr && positions[i] != right) return i;
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::segmented_sort
