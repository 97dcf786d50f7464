// SPDX-License-Identifier: Apache-2.0
// cpu/select_kernels.hpp: masks as bits with counts, ranks of positions in them, and compaction; once per instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// Elements of a block of marks: counts within it fit 16 bits.
inline constexpr std::int64_t kMarkBlock = std::int64_t{1} << 16;
/// Elements of a word of marks.
inline constexpr std::int64_t kMarkWord = 64;

/// A mask as bits, and how many are set before each word: a rank takes three loads. Two words of
/// zeros follow the last one: the end has a rank, and 64 bits from there on.
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

/// Columns are of 1, 2, 4, 8 and 16 bytes: which of them.
inline constexpr int kMovedSizes = 5;
constexpr int moved_size(int bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4; }
/// As the array of bounds' types in a table: int32, uint32, int64.
inline constexpr int kBoundTypes = 3;
constexpr int bound_type(Type type) { return type == Type::int32 ? 0 : type == Type::uint32 ? 1 : 2; }

/// Compaction of a run of content. Only `count` elements of it are read and `kept` of the output written.
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
/// Positions past the last one that may be written over.
inline constexpr std::int64_t kTakeSlack = 8;

struct SelectKernels {
  /// Marks of n <= kMarkBlock booleans, as bytes or from a bit on; bits past the last are zero. Returns how many are set.
  std::int64_t (*mark_bytes)(const std::uint8_t* mask, std::int64_t n, std::uint64_t* words, std::uint16_t* before);
  std::int64_t (*mark_bits)(const std::uint8_t* mask, std::int64_t first_bit, std::int64_t n, std::uint64_t* words,
                            std::uint16_t* before);
  /// out[i] ← rank(offsets[i + 1] - first) for `count` lists; out may be null. `first` is the position of the first mark and
  /// `marks` how many there are. Whether an offset decreases or lies past the marks: its rank is then unspecified.
  bool (*rank_offsets[kBoundTypes])(const void* offsets, std::int64_t count, std::int64_t first, std::int64_t marks,
                                    const MarkView& view, std::int64_t* out);
  /// The same of `count` positions from `position` on, `size` apart.
  void (*rank_sized)(std::int64_t position, std::int64_t size, std::int64_t count, const MarkView& view,
                     std::int64_t* out);
  void (*compact[kMovedSizes])(const CompactRun& run);
  /// The marked elements of ranges, one range after the other. `content` has `count` elements and is the first mark's.
  void (*compact_ranges[kMovedSizes])(const void* content, std::int64_t count, const std::uint64_t* words,
                                      const MarkRange* ranges, std::int64_t range_count, void* out, std::int64_t kept);
  /// The positions in the content that the ranges' indices name, one range after the other, and up to kTakeSlack more.
  /// `indices` holds `count`. Whether all of them name an element.
  bool (*take[kBoundTypes])(const void* indices, std::int64_t count, const TakeRange* ranges, std::int64_t range_count,
                            std::int64_t* positions);
};

const SelectKernels& select_kernels_baseline() noexcept;
const SelectKernels& select_kernels_avx2() noexcept;
const SelectKernels& select_kernels_avx512() noexcept;

/// Those of an instruction set that the CPU has.
inline const SelectKernels& select_kernels(Isa isa) noexcept {
  return table_for(isa, &select_kernels_baseline, &select_kernels_avx2, &select_kernels_avx512);
}

}  // namespace upsweep::cpu
