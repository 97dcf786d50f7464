// SPDX-License-Identifier: Apache-2.0
// cuda/work_path.cuh: the work of lists as a path that is divided equally, its costs, and the searches for who is at a place of it.
//
// The path goes through the elements of a list, then past the list's end, then on to the next list. A step costs what it takes to do:
// so equal lengths of the path are equal work, whatever the lists. With no cost for the ends of lists, a place is an element of the
// result: the tiles of results of moved_lists.cuh.
// From   Merge path (Odeh, Green, Mwassi, Shmueli, Birk, "Merge path", 2012); load-balancing search (Baxter 2013).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "upsweep/detail/device.cuh"

namespace upsweep::gpu {

/// What the steps of a path cost.
struct PathCost {
  std::int64_t element = 1;
  std::int64_t list = 1;  ///< its end

  /// The length of a path of so many elements and lists.
  [[nodiscard]] __host__ __device__ __forceinline__ std::int64_t length(std::int64_t elements,
                                                                        std::int64_t lists) const {
    return elements * element + lists * list;
  }
  /// Whether these come no later than place `at`. Of any elements, where one costs 1: their sum with the lists is not formed.
  [[nodiscard]] __host__ __device__ __forceinline__ bool is_before(std::int64_t elements, std::int64_t lists,
                                                                   std::int64_t at) const {
    return elements * element <= at - lists * list;
  }
};

/// The first i of first … last - 1 for which holds(i), or last: it holds for all that follow one for which it does.
template <class Holds>
__device__ __forceinline__ std::int64_t first_where(std::int64_t first, std::int64_t last, Holds holds) {
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    if (holds(middle)) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

/// The last i of first … last for which holds(i): it does for `first`, and for all that precede one for which it does.
template <class Holds>
__device__ __forceinline__ std::int64_t last_where(std::int64_t first, std::int64_t last, Holds holds) {
  while (first < last) {
    const std::int64_t middle = last - (last - first) / 2;
    if (holds(middle)) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

/// last_where() of 0 … last by each half of a warp, with 16 probes at a time: first around `guess`, 8^7 … 8, 1 before it and
/// 1, 8 … 8^7 after.
template <class Holds>
__device__ __forceinline__ std::int64_t last_where_by_half_warps(std::int64_t last, std::int64_t guess, int lane,
                                                                 Holds holds) {
  const int half = lane / 16;
  const int probe = lane % 16;
  std::int64_t low = 0;
  std::int64_t high = last + 1;
  {
    const auto place_of = [&](int p) {
      return p < 8 ? guess - (std::int64_t{1} << (3 * (7 - p))) : guess + (std::int64_t{1} << (3 * (p - 8)));
    };
    const std::int64_t i = place_of(probe);
    const bool is_before = i <= low || (i < high && holds(i));
    const int before = __popc((__ballot_sync(detail::kAllLanes, is_before) >> (16 * half)) & 0xffffU);
    if (before > 0 && place_of(before - 1) > low) low = place_of(before - 1);
    if (before < 16 && place_of(before) < high) high = place_of(before);
  }
  while (__any_sync(detail::kAllLanes, high - low > 1)) {
    const auto step = static_cast<std::int64_t>(static_cast<std::uint64_t>(high - low + 16) / 17U);
    const std::int64_t i = low + (probe + 1) * step;
    const bool is_before = i < high && holds(i);
    const int before = __popc((__ballot_sync(detail::kAllLanes, is_before) >> (16 * half)) & 0xffffU);
    const std::int64_t bound = low + (before + 1) * step;
    high = bound < high ? bound : high;
    low += before * step;
  }
  return low;
}

}  // namespace upsweep::gpu
