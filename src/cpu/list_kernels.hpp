// SPDX-License-Identifier: Apache-2.0
// cpu/list_kernels.hpp: kernels on short lists: a list per vector lane; of plain loops, and compiled once per instruction set.
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
/// out[i] ← the position in list i of its first smallest or greatest element, NaN before all; -1 for an empty list.
using PickLists = void (*)(const void* content, std::int64_t end, const std::int64_t* starts, const std::int64_t* stops,
                           std::int64_t lists, std::int64_t* out);

/// Rows of n columns, the first elements of two rows so many elements apart: total[j] ← total[j] ⊕ x[r][j], one row after the
/// other, and out[r][j] ← total[j], as it was before where exclusive. No outputs where out is null; it may be x.
using FoldRows = void (*)(const void* x, std::int64_t apart, std::int64_t rows, std::int64_t n, void* total, void* out,
                          std::int64_t out_apart, bool exclusive);

/// What is known of a few lists once their bounds were read.
struct ListsSeen {
  std::int64_t bad;      ///< below 0 where some list is not within the content
  std::int64_t longest;  ///< unspecified then
  std::int64_t shortest;
};
/// Bounds as int64, those of an empty list 0. Types: int32, uint32, int64.
using ReadBounds = ListsSeen (*)(const void* starts, const void* stops, std::int64_t lists, std::int64_t content,
                                 std::int64_t* from, std::int64_t* to);

/// Whether the bits of lists that follow each other, from the first bit of a bitmap on, are set: any of them, all of them, or
/// how many. Of the bounds the differences count. Seven bytes past the last bit's may be read.
struct BitListKernels {
  void (*any)(const std::uint8_t* bits, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
              std::uint8_t* out);
  void (*all)(const std::uint8_t* bits, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
              std::uint8_t* out);
  void (*count)(const std::uint8_t* bits, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
                std::int64_t* out);
};

struct ListKernels {
  FoldLists fold[kTypeCount][kOperatorCount];  ///< of types of 4 and 8 bytes; empty where there is no such operator
  FoldLists sum[kTypeCount];  ///< of floats: sums, but that those of lists without elements are 0.0, whatever `init` is
  ScanLists scan[kTypeCount][kOperatorCount];  ///< the same
  FoldRows rows[kTypeCount][kOperatorCount];   ///< the same
  PickLists argmin[kTypeCount];                ///< of types of 4 and 8 bytes
  PickLists argmax[kTypeCount];
  /// Of types of 4 and 8 bytes, as Awkward Array has them: the minima and maxima of lists and `init`, passing over NaN.
  FoldLists least[kTypeCount];
  FoldLists greatest[kTypeCount];
  /// The same as places in the content, of equals the first; NaN where a list begins with it; -1 for an empty list.
  PickLists place_of_least[kTypeCount];
  PickLists place_of_greatest[kTypeCount];
  ReadBounds read_bounds[kTypeCount];  ///< empty but for is_list_bound
  /// Bounds less so many, but those of empty lists.
  void (*shift_bounds)(std::int64_t* from, std::int64_t* to, std::int64_t lists, std::int64_t by);
  /// Bit i % 8 of bits[i / 8] ← whether x[i] is not zero; the last byte is filled up with zeros.
  void (*nonzero[kTypeCount])(const void* x, std::int64_t n, std::uint8_t* bits);
  BitListKernels bits;
  bool is_wide;  ///< lists of like lengths are done side by side
};

const ListKernels& list_kernels_plain() noexcept;
const ListKernels& list_kernels_baseline() noexcept;
const ListKernels& list_kernels_avx2() noexcept;
const ListKernels& list_kernels_avx512() noexcept;

/// Those of an instruction set that the CPU has.
inline const ListKernels& list_kernels(Isa isa) noexcept {
  return table_for(isa, &list_kernels_baseline, &list_kernels_avx2, &list_kernels_avx512);
}

/// How many lists the kernels do side by side: those that are done together should be of like lengths.
constexpr int lists_per_vector(Type type) { return kVectorBytes / size_of(type); }

}  // namespace upsweep::cpu
