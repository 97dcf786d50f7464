// SPDX-License-Identifier: Apache-2.0
// cpu/index_kernels.hpp: kernels on tags and indices of unions, slices of lists and masks of bytes, once per instruction set.
#pragma once

#include <cstdint>
#include <tuple>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// What becomes of elements of one tag.
struct Retag {
  std::int64_t from;
  std::int8_t to;
  std::int64_t base;  ///< is added to their index
};

/// Lists of elements that are numbered through: list i has counts[i], from starts[i] on.
struct NumberedLists {
  std::int64_t* starts;  ///< become where the lists end
  const std::int64_t* counts;
  std::int64_t count;
  std::int64_t end;  ///< elements before this one, and after those of the lists before, may be written as they are
};

template <class Tag, class Index>
struct UnionKernels {
  /// (to_tags, to_index) ← (how.to, index + how.base) where the tag is how.from. The rest stays, but may be written as it is.
  void (*retag)(const Tag* tags, const Index* index, std::int64_t n, Retag how, std::int8_t* to_tags,
                std::int64_t* to_index);
  /// Tags and index, which is `number`, number + 1, …, of the lists' elements. Returns the next number.
  std::int64_t (*fill)(Tag* tags, Index* index, Tag tag, NumberedLists lists, std::int64_t number);
};

/// Bytes of a mask that count: those that are zero, or those that are not.
struct MaskRange {
  const std::int8_t* mask;
  bool nonzero;
  std::int64_t first;
  std::int64_t last;
};

/// [start:stop:step] of lists, as in Python.
struct Slice {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t step;  ///< 0 takes nothing
  bool has_start;
  bool has_stop;
};

/// n lists, and what is taken of each.
template <class T>
struct SlicedLists {
  const T* starts;
  const T* stops;
  std::int64_t n;
  Slice slice;
};

template <class T>
struct SliceKernels {
  /// How many elements are taken.
  std::int64_t (*count)(const SlicedLists<T>& lists);
  /// to[at], … ← where these lie; ends[i] ← where those of list i end. Up to to[end] more may be written. Returns the last end.
  std::int64_t (*write)(const SlicedLists<T>& lists, T* ends, std::int64_t* to, std::int64_t at, std::int64_t end);
};

struct IndexKernels {
  std::tuple<UnionKernels<std::int8_t, std::int32_t>, UnionKernels<std::int8_t, std::uint32_t>,
             UnionKernels<std::int8_t, std::int64_t>, UnionKernels<std::int64_t, std::int64_t>>
      unions;
  std::tuple<SliceKernels<std::int32_t>, SliceKernels<std::uint32_t>, SliceKernels<std::int64_t>> slices;
  std::int64_t (*count)(MaskRange range);
  /// to[at], … ← their positions. Up to to[end] more may be written. Returns where it has ended.
  std::int64_t (*positions)(MaskRange range, std::int64_t* to, std::int64_t at, std::int64_t end);
  /// to[i] ← 1 of n lists that are empty, or end before they start, else 0.
  void (*are_empty)(const std::int64_t* offsets, std::int64_t n, std::int8_t* to);
};

const IndexKernels& index_kernels_baseline() noexcept;
const IndexKernels& index_kernels_avx2() noexcept;
const IndexKernels& index_kernels_avx512() noexcept;

/// Those of an instruction set that the CPU has.
inline const IndexKernels& index_kernels(Isa isa) noexcept {
  return table_for(isa, &index_kernels_baseline, &index_kernels_avx2, &index_kernels_avx512);
}

}  // namespace upsweep::cpu
