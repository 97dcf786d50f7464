// SPDX-License-Identifier: Apache-2.0
// cpu/select_kernels.hpp: masks as bits with counts, ranks of positions in them, and compaction; per instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// Elements of a block of marks: counts within it fit 16 bits.
inline constexpr std::int64_t kMarkBlock = std::int64_t{1} << 16;
/// Elements of a word of marks.
inline constexpr std::int64_t kMarkWord = 64;

/// A mask as bits, and the number of set bits before each word: a rank takes three loads. Two words of zeros follow the
/// last one, so that the end also has a rank, and 64 bits from there on.
struct MarkView {
  const std::uint64_t* words;
  const std::uint16_t* before;   ///< of each word: bits set before it in its block
  const std::int64_t* in_front;  ///< of each block: bits set before it
};

/// Positions within the marks.
struct MarkRange {
  std::int64_t first;
  std::int64_t stop;
};

/// Columns have elements of 1, 2, 4, 8 or 16 bytes; returns the index of a size.
inline constexpr int kMovedSizes = 5;
constexpr int moved_size(int bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4; }
/// The types of bounds as indices in a table: int32, uint32, int64.
inline constexpr int kBoundTypes = 3;
constexpr int bound_type(Type type) { return type == Type::int32 ? 0 : type == Type::uint32 ? 1 : 2; }

/// Compaction of a run of content. It reads only `count` elements and writes only `kept` elements of the output.
struct CompactRun {
  const void* content;
  std::int64_t count;
  const std::uint64_t* words;
  std::uint64_t flip;  ///< ~0: elements whose bit is not set are kept; 0: those whose bit is
  void* out;
  std::int64_t kept;
};

/// Indices first … stop - 1 into the elements start … start + count - 1 of some content.
struct TakeRange {
  std::int64_t first;
  std::int64_t stop;
  std::int64_t start;
  std::int64_t count;
};
/// Positions past the last one that may be overwritten.
inline constexpr std::int64_t kTakeSlack = 8;

struct SelectKernels {
  /// Marks n <= kMarkBlock booleans, as bytes or from a bit on; bits past the last are zero. Returns how many are set.
  std::int64_t (*mark_bytes)(const std::uint8_t* mask, std::int64_t n, std::uint64_t* words, std::uint16_t* before);
  std::int64_t (*mark_bits)(const std::uint8_t* mask, std::int64_t first_bit, std::int64_t n, std::uint64_t* words,
                            std::uint16_t* before);
  /// out[i] ← rank(offsets[i + 1] - first) for `count` lists; out may be null. `first` is the position of the first
  /// mark and `marks` their number. Returns whether an offset decreases or is past the marks; its rank is then
  /// unspecified.
  bool (*rank_offsets[kBoundTypes])(const void* offsets, std::int64_t count, std::int64_t first, std::int64_t marks,
                                    const MarkView& view, std::int64_t* out);
  /// Computes the ranks of `count` positions from `position` on, `size` apart.
  void (*rank_sized)(std::int64_t position, std::int64_t size, std::int64_t count, const MarkView& view,
                     std::int64_t* out);
  void (*compact[kMovedSizes])(const CompactRun& run);
  /// Writes the marked elements of ranges, one range after the other. `content` has `count` elements and begins at the
  /// first mark.
  void (*compact_ranges[kMovedSizes])(const void* content, std::int64_t count, const std::uint64_t* words,
                                      const MarkRange* ranges, std::int64_t range_count, void* out, std::int64_t kept);
  /// Writes the positions in the content of the ranges' indices, one range after the other, and up to kTakeSlack more.
  /// `indices` has `count` elements. Returns whether all of them are valid.
  bool (*take[kBoundTypes])(const void* indices, std::int64_t count, const TakeRange* ranges, std::int64_t range_count,
                            std::int64_t* positions);
};

const SelectKernels& select_kernels_baseline() noexcept;
const SelectKernels& select_kernels_avx2() noexcept;
const SelectKernels& select_kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const SelectKernels& select_kernels(Isa isa) noexcept {
  return table_for(isa, &select_kernels_baseline, &select_kernels_avx2, &select_kernels_avx512);
}

}  // namespace upsweep::cpu
