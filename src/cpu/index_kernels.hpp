// SPDX-License-Identifier: Apache-2.0
// cpu/index_kernels.hpp: kernels on tags and indices of unions, slices of lists and byte masks; per instruction set.
#pragma once

#include <cstdint>
#include <tuple>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// How elements of one tag are changed.
struct Retag {
  std::int64_t from;
  std::int8_t to;
  std::int64_t base;  ///< is added to their index
};

/// Lists whose elements are numbered consecutively: list i has counts[i] elements, from starts[i] on.
struct NumberedLists {
  std::int64_t* starts;  ///< become the ends of the lists
  const std::int64_t* counts;
  std::int64_t count;
  std::int64_t end;  ///< elements after earlier lists' ones and before this one may be rewritten unchanged
};

template <class Tag, class Index>
struct UnionKernels {
  /// (to_tags, to_index) ← (how.to, index + how.base) where the tag is how.from. Other elements may be rewritten
  /// unchanged.
  void (*retag)(const Tag* tags, const Index* index, std::int64_t n, Retag how, std::int8_t* to_tags,
                std::int64_t* to_index);
  /// Writes tags and indices of the lists' elements. Indices are `number`, number + 1, …. Returns the next number.
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

/// n lists, and the slice that is taken of each.
template <class T>
struct SlicedLists {
  const T* starts;
  const T* stops;
  std::int64_t n;
  Slice slice;
};

template <class T>
struct SliceKernels {
  /// Returns the number of elements that are taken.
  std::int64_t (*count)(const SlicedLists<T>& lists);
  /// to[at], … ← the positions of these elements; ends[i] ← the end of list i's. Up to to[end] more may be written.
  /// Returns the last end.
  std::int64_t (*write)(const SlicedLists<T>& lists, T* ends, std::int64_t* to, std::int64_t at, std::int64_t end);
};

struct IndexKernels {
  std::tuple<UnionKernels<std::int8_t, std::int32_t>, UnionKernels<std::int8_t, std::uint32_t>,
             UnionKernels<std::int8_t, std::int64_t>, UnionKernels<std::int64_t, std::int64_t>>
      unions;
  std::tuple<SliceKernels<std::int32_t>, SliceKernels<std::uint32_t>, SliceKernels<std::int64_t>> slices;
  std::int64_t (*count)(MaskRange range);
  /// to[at], … ← the positions of bytes that count. Up to to[end] more may be written. Returns the end.
  std::int64_t (*positions)(MaskRange range, std::int64_t* to, std::int64_t at, std::int64_t end);
  /// to[i] ← 1 if list i of n is empty or ends before it starts, otherwise 0.
  void (*are_empty)(const std::int64_t* offsets, std::int64_t n, std::int8_t* to);
};

const IndexKernels& index_kernels_baseline() noexcept;
const IndexKernels& index_kernels_avx2() noexcept;
const IndexKernels& index_kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const IndexKernels& index_kernels(Isa isa) noexcept {
  return table_for(isa, &index_kernels_baseline, &index_kernels_avx2, &index_kernels_avx512);
}

}  // namespace upsweep::cpu
