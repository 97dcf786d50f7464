// SPDX-License-Identifier: Apache-2.0
// awkward/kept.hpp: numbers the kept elements of lists consecutively, without a branch per list or per element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "awkward/ranges.hpp"

namespace upsweep::awkward {

/// Returns whether none of lists first … last - 1 ends before it starts, without a comparison per list.
template <class T>
bool are_ordered(const T* offsets, std::int64_t first, std::int64_t last) {
  std::int64_t signs = 0;
  for (std::int64_t i = first; i < last; ++i) {
    signs |= static_cast<std::int64_t>(offsets[i + 1]) - static_cast<std::int64_t>(offsets[i]);
  }
  return signs >= 0;
}

/// Returns the first of n lists that ends before it starts, or kNoIndex.
template <class T>
std::int64_t first_decrease(const T* offsets, std::int64_t n) {
  return first_bad_of_ranges(n, [=](std::int64_t first, std::int64_t last) {
    if (are_ordered(offsets, first, last)) return kNoIndex;
    for (std::int64_t i = first;; ++i) {
      if (offsets[i + 1] < offsets[i]) return i;
    }
  });
}

template <class IsKept>
std::int64_t count_if(std::int64_t first, std::int64_t last, IsKept is_kept) {
  std::int64_t count = 0;
  for (std::int64_t j = first; j < last; ++j) count += is_kept(j) ? 1 : 0;
  return count;
}

/// Returns whether an element is written at its number. An element that is not kept is overwritten by the next kept
/// one, up to the end of the place.
inline bool is_written(std::int64_t number, bool is_kept, const Destination& place) {
  return (static_cast<int>(is_kept) | static_cast<int>(number < place.end)) != 0;  // one well-predicted branch
}

/// Calls write(j, number, is_kept) for the elements between two offsets; `number` elements were kept before. Calls
/// end(i, number) for each list that ends. Offsets do not decrease. Returns the next number.
template <class Offset, class IsKept, class Write, class End>
std::int64_t walk_lists(const Offset* offsets, std::int64_t first, std::int64_t last, std::int64_t number,
                        IsKept is_kept, Write write, End end) {
  if (first == last) return number;
  // The numbers of some elements are stored, for the lists that end at one of them. So lists need no separate loop.
  constexpr std::int64_t kElements = 1024;
  std::array<std::int64_t, kElements + 1> numbers;
  const auto elements_end = static_cast<std::int64_t>(offsets[last]);
  std::int64_t list = first;
  for (auto begin = static_cast<std::int64_t>(offsets[first]);; begin += kElements) {
    const std::int64_t count = std::min(kElements, elements_end - begin);
    for (std::int64_t j = 0; j < count; ++j) {
      const bool keep = is_kept(begin + j);
      numbers[static_cast<std::size_t>(j)] = number;
      write(begin + j, number, keep);
      number += keep ? 1 : 0;
    }
    numbers[static_cast<std::size_t>(count)] = number;
    for (; list < last && static_cast<std::int64_t>(offsets[list + 1]) <= begin + count; ++list) {
      end(list, numbers[static_cast<std::size_t>(static_cast<std::int64_t>(offsets[list + 1]) - begin)]);
    }
    if (list == last) return number;
  }
}

}  // namespace upsweep::awkward
