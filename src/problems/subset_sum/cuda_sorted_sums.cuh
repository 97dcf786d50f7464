// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_sorted_sums.cuh: a block computes the sums of a few items' subsets in ascending order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace upsweep::impl::subset_sum {

/// A sum of items, at most 2^63-1.
using Sum = unsigned long long;

/// Returns the number of values of sorted[0 … count) that are less than `value`, or, with kOrEqual, not greater.
template <bool kOrEqual, class Index>
__device__ __forceinline__ Index count_below(const Sum* sorted, Index count, Sum value) {
  Index low = 0;
  while (low < count) {
    const Index middle = low + (count - low) / 2;
    const bool is_below = kOrEqual ? sorted[middle] <= value : sorted[middle] < value;
    low = is_below ? middle + 1 : low;
    count = is_below ? count : middle;
  }
  return low;
}

/// Computes the sums of all subsets of `items`, ascending, in one of two arrays of 2^items sums in shared memory.
/// Returns this array. The list doubles with each item: it is merged with itself plus the item. A sum's place in the
/// merge is its place in its own copy plus the number of sums before it in the other copy. If two sums are equal, the
/// one without the item is first.
__device__ __forceinline__ Sum* sorted_sums(Sum* sums, Sum* next, const std::int64_t* items, int count) {
  if (threadIdx.x == 0) sums[0] = 0;
  for (int i = 0; i < count; ++i) {
    const auto item = static_cast<Sum>(items[i]);
    const int size = 1 << i;
    __syncthreads();  // the list is complete, and no thread reads the previous one
    for (int place = static_cast<int>(threadIdx.x); place < size; place += static_cast<int>(blockDim.x)) {
      const Sum sum = sums[place];
      const int others = sum < item ? 0 : count_below<false>(sums, size, sum - item);
      next[place + others] = sum;
      next[place + count_below<true>(sums, size, sum + item)] = sum + item;
    }
    Sum* const merged = next;
    next = sums;
    sums = merged;
  }
  __syncthreads();  // the last list is complete
  return sums;
}

}  // namespace upsweep::impl::subset_sum
