// SPDX-License-Identifier: Apache-2.0
// cpu/list_kernels.hpp: kernels on short lists, one list per SIMD lane: plain loops, and per instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"

namespace upsweep::cpu {

/// Folds of lists; see ListFoldKernel::fold.
using FoldLists = decltype(detail::ListFoldKernel::fold);
/// Scans of lists; see ListScanKernel::scan.
using ScanLists = decltype(detail::ListScanKernel::scan);
/// out[i] ← the position in list i of its first smallest or largest element, NaN before all; -1 for an empty list.
using PickLists = void (*)(const void* content, std::int64_t end, const std::int64_t* starts, const std::int64_t* stops,
                           std::int64_t lists, std::int64_t* out);

/// Folds rows of n columns: total[j] ← total[j] ⊕ x[r][j], one row after the other. The first elements of two rows are
/// `apart` elements apart. out[r][j] ← total[j], or the value of total[j] before the row if `exclusive`. If `out` is
/// null, there is no output. `out` may be x.
using FoldRows = void (*)(const void* x, std::int64_t apart, std::int64_t rows, std::int64_t n, void* total, void* out,
                          std::int64_t out_apart, bool exclusive);

/// Properties of a few lists after their bounds were read.
struct ListsSeen {
  std::int64_t bad;      ///< below 0 if some list is not within the content
  std::int64_t longest;  ///< not specified in that case
  std::int64_t shortest;
};
/// Reads bounds as int64; those of an empty list are 0. Types: int32, uint32, int64.
using ReadBounds = ListsSeen (*)(const void* starts, const void* stops, std::int64_t lists, std::int64_t content,
                                 std::int64_t* from, std::int64_t* to);

/// Whether the bits of consecutive lists, from the first bit of a bitmap on, are set: any of them, all of them, or how
/// many. Only the differences of the bounds are used. Seven bytes past the last bit's may be read.
struct BitListKernels {
  void (*any)(const std::uint8_t* bits, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
              std::uint8_t* out);
  void (*all)(const std::uint8_t* bits, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
              std::uint8_t* out);
  void (*count)(const std::uint8_t* bits, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
                std::int64_t* out);
};

struct ListKernels {
  FoldLists fold[kTypeCount][kOperatorCount];  ///< for types of 4 and 8 bytes; empty without such an operator
  FoldLists sum[kTypeCount];  ///< for floats: sums, but 0.0 for lists without elements, whatever `init` is
  ScanLists scan[kTypeCount][kOperatorCount];  ///< like `fold`
  FoldRows rows[kTypeCount][kOperatorCount];   ///< like `fold`
  PickLists argmin[kTypeCount];                ///< for types of 4 and 8 bytes
  PickLists argmax[kTypeCount];
  /// For types of 4 and 8 bytes, as Awkward Array defines them: the minima and maxima of lists and `init`, ignoring
  /// NaN.
  FoldLists least[kTypeCount];
  FoldLists greatest[kTypeCount];
  /// Places of these in the content. If elements are equal, the first; NaN if a list begins with it; -1 for an empty
  /// list.
  PickLists place_of_least[kTypeCount];
  PickLists place_of_greatest[kTypeCount];
  ReadBounds read_bounds[kTypeCount];  ///< empty except for is_list_bound
  /// Subtracts `by` from bounds, except those of empty lists.
  void (*shift_bounds)(std::int64_t* from, std::int64_t* to, std::int64_t lists, std::int64_t by);
  /// Bit i % 8 of bits[i / 8] ← whether x[i] is not zero. The last byte is padded with zeros.
  void (*nonzero[kTypeCount])(const void* x, std::int64_t n, std::uint8_t* bits);
  BitListKernels bits;
  bool is_wide;  ///< lists of similar lengths are processed one per SIMD lane
};

const ListKernels& list_kernels_plain() noexcept;
const ListKernels& list_kernels_baseline() noexcept;
const ListKernels& list_kernels_avx2() noexcept;
const ListKernels& list_kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const ListKernels& list_kernels(Isa isa) noexcept {
  return table_for(isa, &list_kernels_baseline, &list_kernels_avx2, &list_kernels_avx512);
}

/// Returns the number of lists that the kernels process at the same time. Their lengths should be similar.
constexpr int lists_per_vector(Type type) { return kVectorBytes / size_of(type); }

}  // namespace upsweep::cpu
