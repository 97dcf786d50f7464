// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_lane_folds.cuh: the lanes of a warp of cuda.pipeline fold lists in shared
// memory.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_shape.cuh"
#include "problems/lists/segmented_reduce/pipeline_tile_folds.cuh"
#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/bulk_copy.cuh"
#endif

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

template <class T>
__device__ __forceinline__ T shuffle_xor(const T& value, int step) {
  return gpu::detail::move_words(
      value, [&](std::uint32_t word) { return __shfl_xor_sync(gpu::detail::kAllLanes, word, step); });
}

/// Returns the fold of a warp's values in a fixed order, on all lanes.
template <class R>
__device__ __forceinline__ typename R::Value fold_values(const R& reducer, typename R::Value value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = reducer.merge(value, shuffle_xor(value, step));
  return value;
}

/// Folds elements in a stage with all lanes of a warp. The strategy depends only on the lengths of the warp's lists.
template <class R>
class LaneFolds {
 public:
  using In = typename R::In;
  using Acc = typename InTile<R>::Acc;

  __device__ __forceinline__ LaneFolds(const R& reducer, int lane) : reducer_(reducer), tiles_{reducer}, lane_(lane) {}

  /// Folds the elements [from, from + length) of each lane; `length` may be 0.
  __device__ __forceinline__ Acc fold_lists(const In* content, std::uint32_t from, std::uint32_t length) const {
    const std::uint32_t longest = __reduce_max_sync(gpu::detail::kAllLanes, length);
    if (longest >= 4 && __all_sync(gpu::detail::kAllLanes, length == longest || length == 0)) {
      return fold_equal(content, from, length, longest);
    }
    if (longest <= 20) return fold_lane(content, from, length, longest);
    return fold_unequal(content, from, length, longest);
  }

  /// Folds lists with several lanes each; the first lane of a list gets the result. Equal lists are divided equally
  /// among lanes, which avoids bank conflicts. In lists of similar lengths, lanes take every n-th element. Otherwise
  /// lanes take contiguous elements, and the whole warp folds the large lists.
  __device__ __forceinline__ Acc fold_groups(const In* content, std::uint32_t from, std::uint32_t length,
                                             int lanes) const {
    const std::uint32_t mine = lane_ & ((1U << lanes) - 1);
    const std::uint32_t longest = __reduce_max_sync(gpu::detail::kAllLanes, length);
    const bool divides = (longest & ((1U << lanes) - 1)) == 0;
    Acc acc;
    if (lanes == 5) {
      acc = fold_spread<8>(content, from, from + length, mine, 32);
      if constexpr (InTile<R>::kMergesWarps) return tiles_.merge_warp(acc);
    } else if (divides && __all_sync(gpu::detail::kAllLanes, length == 0 || length == longest)) {
      acc = fold_equal(content, from + (length >> lanes) * mine, length >> lanes, longest >> lanes);
    } else if (__all_sync(gpu::detail::kAllLanes, length == 0 || length * 2 >= longest)) {
      acc = fold_spread<4>(content, from, from + length, mine, 1U << lanes);
    } else {
      const std::uint32_t before = length * mine >> lanes;
      const std::uint32_t own = (length * (mine + 1) >> lanes) - before;
      acc = fold_unequal(content, from + before, own, __reduce_max_sync(gpu::detail::kAllLanes, own));
    }
    for (int step = 1; step < 1 << lanes; step *= 2) acc = tiles_.merge(acc, shuffle_xor(acc, step));
    return acc;
  }

  /// Folds the elements [from, to) of the tile with `threads` threads; returns the fold of thread `me`.
  template <int kLoads>
  __device__ __forceinline__ Acc fold_spread(const In* content, std::uint32_t from, std::uint32_t to, std::uint32_t me,
                                             std::uint32_t threads) const {
    Acc acc = tiles_.none(from);
    if constexpr (InTile<R>::kByWords) {
      if (from < to) fold_words<kLoads>(content, from, to, me, threads, acc);
    } else if constexpr (InTile<R>::kByGroups) {
      fold_groups_of(content, from, to, me, threads, acc);
    } else {
      for (std::uint32_t j = from + me; j < to; j += kLoads * threads) {
        In x[kLoads];
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
          x[u] = tiles_.absent();
          if (j + u * threads < to) x[u] = content[j + u * threads];
        }
#pragma unroll
        for (int u = 0; u < kLoads; ++u) tiles_.add(acc, x[u], j + u * threads);
      }
    }
    return acc;
  }

 private:
  static constexpr std::uint32_t kBytes = sizeof(In);
  static constexpr std::uint32_t kVector = 16 / kBytes;
  struct alignas(16) Vector {
    In element[kVector];
  };
  /// Number of elements that are added at once.
  static constexpr std::uint32_t kGroup = kVector < 4 ? kVector : 4;

  /// Does the same by aligned vectors; some elements of the first and the last vector may be outside.
  __device__ __forceinline__ void fold_groups_of(const In* content, std::uint32_t from, std::uint32_t to,
                                                 std::uint32_t me, std::uint32_t threads, Acc& acc) const {
    const std::uint32_t length = to - from;
    const std::uint32_t before = gpu::detail::shared_address(content + from) % 16 / kBytes;
    const std::uint32_t vectors = (before + length + kVector - 1) / kVector;
    const std::uint32_t inside = length >= kVector ? length - kVector + 1 : 0;
    const auto* const at = reinterpret_cast<const Vector*>(content + from - before);
#pragma unroll 1  // registers are scarce
    for (std::uint32_t v = me; v < vectors; v += threads) {
      Vector x = at[v];
      const std::uint32_t first = v * kVector - before;  // relative to `from`
      if (first >= inside) {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; ++e) {
          if (first + e >= length) x.element[e] = tiles_.absent();
        }
      }
#pragma unroll
      for (std::uint32_t e = 0; e < kVector; e += kGroup) {
        tiles_.template add_next_group<kGroup>(acc, x.element + e, static_cast<std::int32_t>(from + first + e));
      }
    }
  }

  /// Does the same for counted bytes, four at a time; bytes outside are zero.
  template <int kLoads>
  __device__ __forceinline__ void fold_words(const In* content, std::uint32_t from, std::uint32_t to, std::uint32_t me,
                                             std::uint32_t threads, Acc& acc) const {
    const std::uint32_t before = gpu::detail::shared_address(content + from) & 3U;
    const std::uint32_t words = (before + (to - from) + 3) / 4;
    const auto* const at = reinterpret_cast<const std::uint32_t*>(content + from - before);
    for (std::uint32_t j = me; j < words; j += threads * kLoads) {
      std::uint32_t x[kLoads];
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        const std::uint32_t i = j + u * threads;
        x[u] = i < words ? at[i] : 0;
        if (i == 0) x[u] &= ~0U << (8 * before);
        if (i == words - 1) x[u] &= ~0U >> (8 * ((0U - (before + (to - from))) & 3U));
      }
#pragma unroll
      for (int u = 0; u < kLoads; ++u) acc += __popc(__vminu4(x[u], 0x01010101U));
    }
    // The number of zeros is the number of all elements, which the first thread counts, minus that of nonzero ones.
    if (reducer_.counted == Counted::zeros) acc = (me == 0 ? static_cast<Acc>(to - from) : 0) - acc;
  }

  /// Adds four elements of each lane from `first` on, or `left` elements if there are fewer.
  __device__ __forceinline__ void add_four(Acc& acc, const In* first, int left, std::uint32_t position) const {
    In x[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      x[u] = tiles_.absent();
      if (u < left) x[u] = first[u];
    }
    if constexpr (InTile<R>::kByGroups) {
      tiles_.template add_next_group<4>(acc, x, static_cast<std::int32_t>(position));
    } else {
#pragma unroll
      for (int u = 0; u < 4; ++u) tiles_.add(acc, x[u], position + u);
    }
  }
  /// Folds the elements [from, from + length) of each lane, one after the other.
  __device__ __forceinline__ Acc fold_lane(const In* content, std::uint32_t from, std::uint32_t length,
                                           std::uint32_t longest) const {
    const auto left = static_cast<int>(length);
    Acc acc = tiles_.none(from);
    add_four(acc, content + from, left, from);
    if (longest <= 4) return acc;
    add_four(acc, content + from + 4, left - 4, from + 4);
#pragma unroll 1
    for (std::uint32_t j = 8; j < longest; j += 4) {
      add_four(acc, content + from + j, left - static_cast<int>(j), from + j);
    }
    return acc;
  }

  /// Returns the largest power of two <= x; for zero, 1.
  __device__ static __forceinline__ std::uint32_t floor_power(std::uint32_t x) {
    return 1U << (31 - __clz(static_cast<int>(x | 1U)));
  }

  /// Folds `length` elements of each lane, a multiple of a vector. Each lane begins in other banks than the lanes next
  /// to it. Results do not depend on the alignment of vectors in memory. Elements that are added by groups must be
  /// aligned.
  __device__ __forceinline__ Acc fold_vectors(const In* content, std::uint32_t from, std::uint32_t length,
                                              bool are_aligned) const {
    const std::uint32_t vectors = length / kVector;
    const std::uint32_t at = from / kVector;
    // Eight lanes load at once. Lists of eight vectors or more begin at the lane's own place in a row of banks. Shorter
    // lists begin one place further in each row.
    std::uint32_t k = vectors >= 8 ? (lane_ - at) & 7 : at / 8 & (floor_power(vectors) - 1);
    Acc acc = tiles_.none(from);
#pragma unroll 4
    for (std::uint32_t j = 0; j < vectors; ++j) {
      const std::uint32_t position = from + k * kVector;
      Vector vector;
      if (InTile<R>::kByGroups || are_aligned) {
        vector = *reinterpret_cast<const Vector*>(content + position);
      } else {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; ++e) vector.element[e] = content[position + e];
      }
      if constexpr (InTile<R>::kByGroups) {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; e += kGroup) {
          tiles_.template add_group<kGroup>(acc, vector.element + e, static_cast<std::int32_t>(position + e));
        }
      } else {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; ++e) tiles_.add(acc, vector.element[e], position + e);
      }
      if (++k == vectors) k = 0;
    }
    return acc;
  }

  /// Folds elements [from, from + length) of each lane, starting at `rotation` and wrapping to the beginning.
  __device__ __forceinline__ Acc fold_around(const In* content, std::uint32_t from, std::uint32_t length,
                                             std::uint32_t longest, std::uint32_t rotation) const {
    Acc acc = tiles_.none(from);
    std::uint32_t k = rotation;
    for (std::uint32_t j = 0; j < longest; j += 4) {
      In x[4];
      std::uint32_t at[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        at[u] = from + k;
        if (j + u < length) x[u] = content[at[u]];
        if (++k >= length) k = 0;
      }
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        if (j + u < length) tiles_.add(acc, x[u], at[u]);
      }
    }
    return acc;
  }
  __device__ __forceinline__ Acc fold_warp(Acc acc) const {
    if constexpr (InTile<R>::kMergesWarps) {
      return tiles_.merge_warp(acc);
    } else {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) acc = tiles_.merge(acc, shuffle_xor(acc, step));
      return acc;
    }
  }

  /// Folds the lists [from, from + length) of each lane; all lists have the same length or are empty.
  __device__ __forceinline__ Acc fold_equal(const In* content, std::uint32_t from, std::uint32_t length,
                                            std::uint32_t longest) const {
    if (longest % kVector == 0) {
      const bool is_aligned = gpu::detail::shared_address(content + from) % 16 == 0;
      const bool are_aligned = __all_sync(gpu::detail::kAllLanes, is_aligned || length == 0);
      if (!InTile<R>::kByGroups || are_aligned) return fold_vectors(content, from, length, are_aligned);
    }
    constexpr std::uint32_t kSpread = kBytes < 4 ? 4 / kBytes : 1;
    const std::uint32_t turn = from * kBytes / 128 * kSpread & (floor_power(length) - 1);
    return fold_around(content, from, length, longest, turn);
  }

  /// Folds lists of more than `most` elements with the whole warp, one after the other, and the other lists with their
  /// lanes.
  __device__ __forceinline__ Acc fold_unequal(const In* content, std::uint32_t from, std::uint32_t length,
                                              std::uint32_t longest) const {
    // A list costs the warp about the time of 12 elements in a lane.
    const auto more_than = [&](std::uint32_t limit) {
      return __popc(__ballot_sync(gpu::detail::kAllLanes, length > limit));
    };
    int cost = static_cast<int>(longest < 4096U ? longest : 4096U);
    std::uint32_t most = longest;
#pragma unroll
    for (int limit = 48; limit >= 8; limit = limit == 48 ? 16 : limit - 8) {
      const int by_warp = limit + 12 * more_than(static_cast<std::uint32_t>(limit));
      if (by_warp < cost) {
        cost = by_warp;
        most = static_cast<std::uint32_t>(limit);
      }
    }
    Acc acc = fold_lane(content, from, length > most ? 0 : length, most < longest ? most : longest);
    for (unsigned large = __ballot_sync(gpu::detail::kAllLanes, length > most); large != 0; large &= large - 1) {
      const int source = __ffs(static_cast<int>(large)) - 1;
      const std::uint32_t begin = __shfl_sync(gpu::detail::kAllLanes, from, source);
      const std::uint32_t end = begin + __shfl_sync(gpu::detail::kAllLanes, length, source);
      const Acc all = fold_warp(fold_spread<4>(content, begin, end, lane_, 32));
      if (lane_ == source) acc = all;
    }
    return acc;
  }

  const R& reducer_;
  InTile<R> tiles_;
  int lane_;
};

}  // namespace upsweep::impl::segmented_reduce
#endif
