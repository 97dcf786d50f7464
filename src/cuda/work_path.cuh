// SPDX-License-Identifier: Apache-2.0
// cuda/work_path.cuh: the work of lists as a path that is divided equally, its costs, and searches on it.
//
// The path passes the elements of a list, then the list's end, then the next list. The cost of a step is its work, so
// equal lengths of the path are equal work, for any lists. If the ends of lists cost nothing, a place is an element of
// the result, as in the tiles of results of moved_lists.cuh.
// From   Merge path (Odeh, Green, Mwassi, Shmueli, Birk, "Merge path", 2012); load-balancing search (Baxter 2013).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "upsweep/detail/device.cuh"

namespace upsweep::gpu {

/// The costs of the steps of a path.
struct PathCost {
  std::int64_t element = 1;
  std::int64_t list = 1;  ///< its end

  /// Returns the length of a path of that number of elements and lists.
  [[nodiscard]] __host__ __device__ __forceinline__ std::int64_t length(std::int64_t elements,
                                                                        std::int64_t lists) const {
    return elements * element + lists * list;
  }
  /// Whether these are at or before place `at`. If an element costs 1, any number is allowed: its sum with the lists is
  /// not formed.
  [[nodiscard]] __host__ __device__ __forceinline__ bool is_before(std::int64_t elements, std::int64_t lists,
                                                                   std::int64_t at) const {
    return elements * element <= at - lists * list;
  }
};

/// Returns the first i of first … last - 1 for which holds(i), or last. If it holds for one i, it must hold for all
/// later ones.
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

/// Returns the last i of first … last for which holds(i). It must hold for `first`, and for all i before one for which
/// it holds.
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

/// Computes last_where() of 0 … last by each half of a warp, with 16 probes at a time: first around `guess`, 8^7 … 8, 1
/// before it and 1, 8 … 8^7 after.
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
