// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_sorted_sums.cuh: the sums of a few items' subsets in ascending order, made by a block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace upsweep::impl::subset_sum {

/// A sum of items; they add up to at most 2^63-1.
using Sum = unsigned long long;

/// Values of sorted[0 … count) that are less than `value`, or where kOrEqual not greater.
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

/// The sums of all subsets of `items`, ascending, in one of two arrays of 2^items sums in shared memory: which one is
/// returned. By doubling: a sum's place in the list merged with itself plus the item is its place in its own copy and the
/// number of those before it in the other one. Of two equal ones the one without the item comes first.
__device__ __forceinline__ Sum* sorted_sums(Sum* sums, Sum* next, const std::int64_t* items, int count) {
  if (threadIdx.x == 0) sums[0] = 0;
  for (int i = 0; i < count; ++i) {
    const auto item = static_cast<Sum>(items[i]);
    const int size = 1 << i;
    __syncthreads();  // the list is whole, and no thread reads the one before it
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
  __syncthreads();  // the last list is whole
  return sums;
}

}  // namespace upsweep::impl::subset_sum
