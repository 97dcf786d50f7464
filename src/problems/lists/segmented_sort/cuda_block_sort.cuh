// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_block_sort.cuh: a block sorts the lists of a tile in shared memory, and merges
// runs of a long list.
//
// Every thread sorts kItems adjacent elements in registers by odd-even transposition, which swaps only adjacent
// elements. It never swaps across the head of a list, and never swaps equal elements. Then runs of 8, 16, … elements
// are merged in pairs. Two runs are merged only if a list extends from one to the other, and only this list is merged.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "problems/lists/segmented_sort/cuda_order.cuh"
#include "upsweep/detail/tuning/segmented_sort.hpp"

namespace upsweep::impl::segmented_sort {

inline constexpr int kItems = gpu::tuning::kSort.items;

/// Returns the bits of `words` from bit `first` on.
__device__ inline unsigned bits_from(const unsigned* words, int first) {
  return __funnelshift_r(words[first / 32], words[first / 32 + 1], first % 32);
}

/// Shared memory in which a block of kThreads sorts. It has each element's word and, with kPositions, its original
/// number in the tile. With kPositions, words are keys; otherwise they are the elements' bits.
template <class Word, bool kPositions, int kThreads>
struct Tile {
  static constexpr int kCapacity = kThreads * kItems;
  static constexpr int kHeadWords = kCapacity / 32;

  Word words[kCapacity + kCapacity / 32];
  std::uint16_t orders[kPositions ? kCapacity + kCapacity / 32 : 1];
  std::uint16_t starts[kThreads];  ///< start of the list that contains a thread's first element
  std::uint16_t ends[kThreads];
  unsigned heads[kHeadWords + 1];  ///< a bit per element: whether a list begins there; 1 past the last element

  /// Returns the index of element i in the arrays: the elements of adjacent threads begin in different banks.
  __device__ static int at(int i) { return i + i / 32; }

  __device__ Word key_at(const Order<Word>& order, int i) const {
    return kPositions ? words[at(i)] : order.key(words[at(i)]);
  }
  __device__ bool is_head(int i) const { return ((heads[i / 32] >> (i % 32)) & 1) != 0; }
  /// Returns the last head at or before element i; there must be one.
  __device__ int start_of(int i) const {
    int w = i / 32;
    unsigned bits = heads[w] & (~0U >> (31 - i % 32));
    while (bits == 0 && w > 0) bits = heads[--w];
    return bits == 0 ? 0 : w * 32 + 31 - __clz(static_cast<int>(bits));
  }
  /// Returns the first head after element i, or the end of the tile if there is none.
  __device__ int end_of(int i) const {
    int w = i / 32;
    unsigned bits = i % 32 == 31 ? 0 : heads[w] & (~0U << (i % 32 + 1));
    while (bits == 0 && ++w < kHeadWords) bits = heads[w];
    return bits == 0 ? kCapacity : w * 32 + __ffs(static_cast<int>(bits)) - 1;
  }

  /// A thread's elements in registers.
  struct Own {
    Word words[kItems];
    std::uint16_t orders[kItems];
  };

  __device__ void put(const Own& own, int first, int begin, int end) {
#pragma unroll
    for (int v = 0; v < kItems; ++v) {
      if (first + v < begin || first + v >= end) continue;
      words[at(first + v)] = own.words[v];
      if constexpr (kPositions) orders[at(first + v)] = own.orders[v];
    }
  }

  /// Computes elements first … first+kItems-1 of the merge of [low, middle) and [middle, high), as far as these ranges
  /// go.
  __device__ void merge(const Order<Word>& order, int low, int middle, int high, int first, Own& own) const {
    const int begin = ::max(first, low);
    const int end = ::min(first + kItems, high);
    const int diagonal = begin - low;
    int least = ::max(0, diagonal - (high - middle));
    int most = ::min(diagonal, middle - low);
    while (least < most) {  // how many of the first `diagonal` are from the left; equal keys are taken from the left
      const int a = (least + most) / 2;
      if (key_at(order, middle + diagonal - 1 - a) < key_at(order, low + a)) {
        most = a;
      } else {
        least = a + 1;
      }
    }
    int left = low + least;
    int right = middle + diagonal - least;
    Word left_key = left < middle ? key_at(order, left) : Word{0};
    Word right_key = right < high ? key_at(order, right) : Word{0};
#pragma unroll
    for (int v = 0; v < kItems; ++v) {
      if (first + v < begin || first + v >= end) continue;
      const bool from_right = left >= middle || (right < high && right_key < left_key);
      const int from = from_right ? right : left;
      own.words[v] = words[at(from)];
      if constexpr (kPositions) own.orders[v] = orders[at(from)];
      if (from_right) {
        ++right;
        if (right < high) right_key = key_at(order, right);
      } else {
        ++left;
        if (left < middle) left_key = key_at(order, left);
      }
    }
  }

  /// Sorts the lists of `count` elements, which all threads have put into words, orders and heads. It begins and ends
  /// with a barrier.
  __device__ void sort(const Order<Word>& order, int count) {
    const int first = static_cast<int>(threadIdx.x) * kItems;
    __syncthreads();  // all elements and heads are written
    Own own;
    if (first < count) {
      sort_own(order, first, own);
      put(own, first, first, first + kItems);
      starts[threadIdx.x] = static_cast<std::uint16_t>(start_of(first));
      ends[threadIdx.x] = static_cast<std::uint16_t>(end_of(first));
    }
    __syncthreads();  // every thread's run is written
    // If every list extends over at most two runs, all borders of runs are merged at once.
    const bool goes_on = first > 0 && first < count && !is_head(first);
    const bool is_far =
        goes_on && (int{starts[threadIdx.x]} < first - kItems || int{ends[threadIdx.x]} > first + kItems);
    if (__syncthreads_or(is_far) == 0) return merge_neighbours(order, first, count, own);
    for (int width = kItems; width < count; width *= 2) {
      const int begin = first / (2 * width) * (2 * width);
      const int middle = begin + width;
      int low = 0;
      int high = 0;
      if (middle < count && !is_head(middle)) {
        low = ::max(begin, int{starts[middle / kItems]});
        high = ::min(begin + 2 * width, int{ends[middle / kItems]});
      }
      const bool merges = first < high && first + kItems > low;
      if (merges) merge(order, low, middle, high, first, own);
      if (__syncthreads_or(merges) == 0) continue;  // all threads have read the elements that are overwritten next
      if (merges) put(own, first, ::max(first, low), ::min(first + kItems, high));
      __syncthreads();  // the runs of the next width are written
    }
  }

 private:
  /// Merges both ends of each run with the adjacent runs.
  __device__ void merge_neighbours(const Order<Word>& order, int first, int count, Own& own) {
    int begin[2] = {0, 0};
    int end[2] = {0, 0};
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
      const int middle = first + side * kItems;
      if (middle == 0 || middle >= count || is_head(middle)) continue;
      const int low = starts[middle / kItems];
      const int high = ends[middle / kItems];
      merge(order, low, middle, high, first, own);
      begin[side] = ::max(first, low);
      end[side] = ::min(first + kItems, high);
    }
    __syncthreads();  // all threads have read the elements that are overwritten next
    put(own, first, begin[0], end[0]);
    put(own, first, begin[1], end[1]);
    __syncthreads();  // the lists are written
  }

  __device__ void sort_own(const Order<Word>& order, int first, Own& own) const {
    const unsigned own_heads = heads[first / 32] >> (first % 32);
    Word keys[kItems];
#pragma unroll
    for (int v = 0; v < kItems; ++v) {
      own.words[v] = words[at(first + v)];
      if constexpr (kPositions) own.orders[v] = orders[at(first + v)];
      keys[v] = kPositions ? own.words[v] : order.key(own.words[v]);
    }
    if ((own_heads & 0xfeU) == 0xfeU) return;  // all lists have one element
#pragma unroll
    for (int round = 0; round < kItems; ++round) {
#pragma unroll
      for (int v = round % 2; v + 1 < kItems; v += 2) {
        if (((own_heads >> (v + 1)) & 1) != 0 || !(keys[v + 1] < keys[v])) continue;
        const Word key = keys[v];
        keys[v] = keys[v + 1];
        keys[v + 1] = key;
        const Word word = own.words[v];
        own.words[v] = own.words[v + 1];
        own.words[v + 1] = word;
        if constexpr (kPositions) {
          const std::uint16_t index = own.orders[v];
          own.orders[v] = own.orders[v + 1];
          own.orders[v + 1] = index;
        }
      }
    }
  }
};

}  // namespace upsweep::impl::segmented_sort
