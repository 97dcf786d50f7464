// SPDX-License-Identifier: Apache-2.0
// cpu/sort_kernels.hpp: sorting networks for short lists and blocks of long ones, compiled once per instruction set.
//
// What is sorted are keys: int32 or int64 that compare as the elements do, by sign alone, and that give the element back. Two
// kinds of floats have none: -0.0, which equals 0.0 but is not the same, and NaN. Lists with one of these, and all
// whose positions are asked for, are sorted as pairs of a key and a position, where such elements do have keys; the position
// makes each pair different from every other, so that networks, which are not stable, leave equal elements in their order.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"
#include "upsweep/types.hpp"

namespace upsweep::cpu {

struct SortOrder {
  bool descending = false;
  bool nan_first = false;
};

/// Lists of up to that many elements are short.
inline constexpr std::int64_t kShortList = 64;
/// Keys are sorted in blocks of so many; the last one is filled up.
inline constexpr std::int64_t kSortBlock = 64;

/// Short lists whose outputs lie one after the other.
struct ShortLists {
  const std::int64_t* starts = nullptr;
  const std::int64_t* lengths = nullptr;
  std::int64_t count = 0;
  const void* content = nullptr;
  std::int64_t content_first = 0;  ///< the number of its first element
  std::int64_t content_end = 0;    ///< elements before it may be read, of whichever list
  std::int64_t out_first = 0;      ///< where the first list goes; kNoIndex: each goes where it starts
  std::int64_t out_end = 0;        ///< nothing is written from there on
  SortOrder order = {};
};

struct SortKernel {
  int key_size;  ///< bytes of a key that stands for an element
  /// The sorted elements of each list. `out` may be the content, where each list goes where it starts.
  void (*sort)(const ShortLists& lists, void* out);
  /// The positions, each in its list, that the sorted elements have.
  void (*argsort)(const ShortLists& lists, std::int64_t* out);
  /// The keys of n elements in sorted blocks; keys of the last block past the n come last. False where an element has none.
  bool (*keys)(const void* from, std::int64_t n, SortOrder order, void* keys);
  /// The same with the elements' positions, the first of which is `first`; every element has a key here.
  void (*pairs)(const void* from, std::int64_t n, std::int64_t first, SortOrder order, std::int64_t* keys,
                std::int64_t* positions);
  /// Merges two sorted runs of whole blocks of keys of keys(). Null: one key at a time is faster.
  void (*merge)(const void* left, std::int64_t lefts, const void* right, std::int64_t rights, void* out);
  /// The elements that n keys of keys() stand for.
  void (*elements)(const void* keys, std::int64_t n, SortOrder order, void* to);
};

struct SortKernels {
  SortKernel of[kTypeCount];
};

const SortKernels& sort_kernels_baseline() noexcept;
const SortKernels& sort_kernels_avx2() noexcept;
const SortKernels& sort_kernels_avx512() noexcept;

/// Those of an instruction set that the CPU has.
inline const SortKernel& sort_kernel(Isa isa, Type type) noexcept {
  return table_for(isa, &sort_kernels_baseline, &sort_kernels_avx2, &sort_kernels_avx512).of[at(type)];
}

}  // namespace upsweep::cpu
