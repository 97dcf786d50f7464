// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_tile_folds.cuh: folds of elements in a tile of cuda.pipeline, with positions
// of 32 bits.
#pragma once

#include "problems/lists/segmented_reduce/cuda_lists.cuh"
#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/device.cuh"
#endif

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

/// Returns an element that changes no fold.
template <class T, class Op>
__device__ T absent_of(const Folded<T, Op>& reducer) {
  return reducer.none();
}
template <class T, class Op>
__device__ T absent_of(const Flipped<T, Op>& reducer) {
  return static_cast<T>(reducer.none() ^ reducer.flip);
}
template <class T>
__device__ T absent_of(const Widened<T>&) {
  return 0;
}

/// A reducer whose positions are relative to the tile.
template <class R>
struct InTile {
  using In = typename R::In;
  using Acc = typename R::Value;
  static constexpr bool kByWords = false;
  static constexpr bool kByGroups = false;
  static constexpr bool kMergesWarps = false;
  const R& reducer;

  /// Returns the fold of no elements, at `start` of the tile.
  __device__ Acc none(std::uint32_t) const { return reducer.none(); }
  /// Returns an element that changes no fold.
  __device__ In absent() const { return absent_of(reducer); }
  __device__ void add(Acc& acc, In x, std::uint32_t) const { acc = reducer.merge(acc, reducer.of(x, 0)); }
  __device__ Acc merge(const Acc& a, const Acc& b) const { return reducer.merge(a, b); }
  /// Converts a fold of elements from `start` of a tile on, whose content begins at element `base`, to one of the
  /// content.
  __device__ typename R::Value widen(const Acc& acc, const In*, std::uint32_t, std::int64_t) const { return acc; }
  /// Writes the result of a list of `length` elements that starts at `start` of the tile. For write_wide(), a long list
  /// starts at `start` of the content.
  __device__ void write(std::int64_t list, const Acc& acc, const In*, std::uint32_t, std::uint32_t length) const {
    write_result(reducer, list, acc, [&] { return length == 0; });
  }
  __device__ void write_wide(std::int64_t list, const typename R::Value& value, std::int64_t) const {
    reducer.write(list, value);
  }
};

/// A value, and the position in the tile of the first group of four elements whose maximum it is. A position may be
/// before the tile's begin if a group of four begins there.
template <class T>
struct PickedInTile {
  T value;
  std::int32_t position;
};

/// Compares four adjacent elements with the maximum so far at once. Which of the four it was is found after all are
/// folded. Values are stored as keys, in which equal elements have equal bits.
template <class T>
struct InTile<Pick<T>> {
  using In = T;
  using Acc = PickedInTile<T>;
  static constexpr bool kByWords = false;
  static constexpr bool kByGroups = true;
  static constexpr bool kMergesWarps = sizeof(T) <= 4;
  const Pick<T>& reducer;

  /// If no element exceeds the lowest key, the list's first element is picked.
  __device__ Acc none(std::uint32_t start) const { return {Pick<T>::kLowest, static_cast<std::int32_t>(start)}; }
  __device__ In absent() const { return reducer.least; }

  /// Returns the key of an element. For floats, adding zero turns -0 into 0, and every NaN into one NaN (for doubles,
  /// two may differ). Unlike an operation on bits, the addition does not compete with the comparisons for an execution
  /// unit.
  __device__ T key(T x) const {
    if constexpr (std::is_same_v<T, float>) {
      return __fmaf_rn(x, reducer.sign, 0);
    } else if constexpr (std::is_same_v<T, double>) {
      return __fma_rn(x, reducer.sign, 0);
    } else {
      return Pick<T>::flipped(x, reducer.flip);
    }
  }
  __device__ static bool is_greater(T b, T a) {
    if constexpr (std::is_same_v<T, float>) {
      return __float_as_uint(greater_of(a, b)) != __float_as_uint(a);
    } else if constexpr (std::is_same_v<T, double>) {
      return !(b <= a) && a == a;
    } else {
      return b > a;
    }
  }
  __device__ static T greater_of(T a, T b) {
    if constexpr (std::is_same_v<T, float>) {
      asm("max.NaN.f32 %0,%0,%1;" : "+f"(a) : "f"(b));
      return a;
    } else {
      return is_greater(b, a) ? b : a;
    }
  }
  __device__ static bool is_same(T a, T b) {
    if constexpr (std::is_same_v<T, float>) {
      return __float_as_uint(a) == __float_as_uint(b);
    } else if constexpr (std::is_same_v<T, double>) {
      return a == b || (a != a && b != b);
    } else {
      return a == b;
    }
  }

  __device__ void add(Acc& acc, In x, std::uint32_t position) const {
    acc = merge(acc, {key(x), static_cast<std::int32_t>(position)});
  }
  /// Adds up to four elements from `position` on.
  template <int kElements>
  __device__ void add_group(Acc& acc, const In* x, std::int32_t position) const {
    acc = merge(acc, {greatest<kElements>(x), position});
  }
  /// Does the same for elements that follow all elements added before.
  template <int kElements>
  __device__ void add_next_group(Acc& acc, const In* x, std::int32_t position) const {
    const T value = greatest<kElements>(x);
    if (is_greater(value, acc.value)) acc.position = position;
    acc.value = greater_of(acc.value, value);
  }
  template <int kElements>
  __device__ T greatest(const In* x) const {
    T value = key(x[0]);
#pragma unroll
    for (int u = 1; u < kElements; ++u) value = greater_of(value, key(x[u]));
    return value;
  }
  __device__ Acc merge(const Acc& a, const Acc& b) const {
    const bool is_first = b.position < a.position;
    const bool is_b = is_greater(b.value, a.value) || (is_same(a.value, b.value) && is_first);
    return {greater_of(a.value, b.value), is_b ? b.position : a.position};
  }
  /// Returns the merged folds of all lanes, on all of them.
  __device__ Acc merge_warp(const Acc& acc) const {
    const int value = ordered(acc.value);
    const int greatest = __reduce_max_sync(gpu::detail::kAllLanes, value);
    const int position = value == greatest ? acc.position : kMost;
    return {value_of(greatest), __reduce_min_sync(gpu::detail::kAllLanes, position)};
  }
  /// Converts a key of up to 32 bits to an integer with the same order, and back.
  __device__ static int ordered(T key) {
    if constexpr (std::is_same_v<T, float>) {
      const int bits = __float_as_int(key);
      return bits ^ (bits >> 31 & kMost);
    } else {
      return static_cast<int>(key ^ kTop);
    }
  }
  __device__ static T value_of(int ordered_key) {
    if constexpr (std::is_same_v<T, float>) {
      return __int_as_float(ordered_key ^ (ordered_key >> 31 & kMost));
    } else {
      return static_cast<T>(static_cast<std::uint32_t>(ordered_key) ^ kTop);
    }
  }
  static constexpr int kMost = std::numeric_limits<int>::max();
  static constexpr std::uint32_t kTop = std::uint32_t{1} << 31;

  /// Returns the position of the picked element, at or after `start`. Reads past the list's end stay within the stage
  /// and do not affect the result.
  __device__ std::uint32_t place_of(const Acc& acc, const In* content, std::uint32_t start) const {
    const auto begin = static_cast<std::int32_t>(start);
    const auto first = static_cast<std::uint32_t>(acc.position > begin ? acc.position : begin);
    std::uint32_t place = first + 3;
#pragma unroll
    for (std::uint32_t u = 3; u-- > 0;) {
      if (is_same(key(content[first + u]), acc.value)) place = first + u;
    }
    return place;
  }
  __device__ Picked<T> widen(const Acc& acc, const In* content, std::uint32_t start, std::int64_t base) const {
    const std::uint32_t place = place_of(acc, content, start);
    const T x = content[place];
    // If no element was folded, the position is that of an unrelated element, whose value must not be used.
    return {is_same(key(x), acc.value) ? Pick<T>::flipped(x, reducer.flip) : acc.value, base + place};
  }
  __device__ void write(std::int64_t list, const Acc& acc, const In* content, std::uint32_t start,
                        std::uint32_t length) const {
    Picked<T> picked = reducer.none();
    if (length > 0) {
      const std::uint32_t place = place_of(acc, content, start);
      picked = {Pick<T>::flipped(content[place], reducer.flip), place - start};
    }
    reducer.write(list, picked);
  }
  __device__ void write_wide(std::int64_t list, const Picked<T>& picked, std::int64_t start) const {
    reducer.write(list, {picked.value, picked.position == kNowhere ? 0 : picked.position - start});
  }
};

template <class T>
struct InTile<Count<T>> {
  using In = T;
  using Acc = std::int32_t;
  static constexpr bool kByWords = sizeof(T) == 1;
  static constexpr bool kByGroups = false;
  static constexpr bool kMergesWarps = false;
  const Count<T>& reducer;

  __device__ Acc none(std::uint32_t) const { return 0; }
  __device__ In absent() const { return reducer.counted == Counted::not_zeros ? 0 : 1; }
  __device__ void add(Acc& acc, In x, std::uint32_t) const {
    acc += (x != T{0}) == (reducer.counted == Counted::not_zeros) ? 1 : 0;
  }
  __device__ Acc merge(Acc a, Acc b) const { return a + b; }
  __device__ std::int64_t widen(Acc acc, const In*, std::uint32_t, std::int64_t) const { return acc; }
  __device__ void write(std::int64_t list, Acc acc, const In*, std::uint32_t, std::uint32_t) const {
    reducer.write(list, acc);
  }
  __device__ void write_wide(std::int64_t list, std::int64_t count, std::int64_t) const { reducer.write(list, count); }
};

}  // namespace upsweep::impl::segmented_reduce
#endif
