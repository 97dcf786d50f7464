// SPDX-License-Identifier: Apache-2.0
// cpu/sort_kernels.hpp: sorting networks for short lists and blocks of long ones, compiled once per instruction set.
//
// Keys are sorted: int32 or int64 values that compare as the elements do, by sign only, and from which the element can
// be restored. Two kinds of floats have no key: -0.0, which equals 0.0 but is a different value, and NaN. Lists that
// contain -0.0 or NaN are sorted as pairs of a key and a position; in pairs, these elements have keys. All lists whose
// positions are requested are also sorted as pairs. The position makes all pairs different, so the networks, which are
// not stable, keep equal elements in their order.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"
#include "upsweep/types.hpp"

namespace upsweep::cpu {

struct SortOrder {
  bool descending = false;
  bool nan_first = false;
};

/// Lists of up to this number of elements are short.
inline constexpr std::int64_t kShortList = 64;
/// Keys are sorted in blocks of this length; the last one is padded.
inline constexpr std::int64_t kSortBlock = 64;

/// Short lists whose outputs are consecutive.
struct ShortLists {
  const std::int64_t* starts = nullptr;
  const std::int64_t* lengths = nullptr;
  std::int64_t count = 0;
  const void* content = nullptr;
  std::int64_t content_first = 0;  ///< the number of its first element
  std::int64_t content_end = 0;    ///< elements before it may be read, of any list
  std::int64_t out_first = 0;      ///< place of the first list; kNoIndex: each is written to its start
  std::int64_t out_end = 0;        ///< nothing is written from there on
  SortOrder order = {};
};

struct SortKernel {
  int key_size;  ///< bytes of a key
  /// Writes the sorted elements of each list. `out` may be the content if each list is written to its start.
  void (*sort)(const ShortLists& lists, void* out);
  /// Writes the positions, each in its list, of the sorted elements.
  void (*argsort)(const ShortLists& lists, std::int64_t* out);
  /// Writes the keys of n elements in sorted blocks. Padding keys of the last block are last. Returns false if an
  /// element has no key.
  bool (*keys)(const void* from, std::int64_t n, SortOrder order, void* keys);
  /// Writes keys and the elements' positions, the first of which is `first`. Every element has a key here.
  void (*pairs)(const void* from, std::int64_t n, std::int64_t first, SortOrder order, std::int64_t* keys,
                std::int64_t* positions);
  /// Merges two sorted runs of whole blocks of keys of keys(). Null: merging one key at a time is faster.
  void (*merge)(const void* left, std::int64_t lefts, const void* right, std::int64_t rights, void* out);
  /// Writes the elements of n keys of keys().
  void (*elements)(const void* keys, std::int64_t n, SortOrder order, void* to);
};

struct SortKernels {
  SortKernel of[kTypeCount];
};

const SortKernels& sort_kernels_baseline() noexcept;
const SortKernels& sort_kernels_avx2() noexcept;
const SortKernels& sort_kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const SortKernel& sort_kernel(Isa isa, Type type) noexcept {
  return table_for(isa, &sort_kernels_baseline, &sort_kernels_avx2, &sort_kernels_avx512).of[at(type)];
}

}  // namespace upsweep::cpu
