// SPDX-License-Identifier: Apache-2.0
// cpu/marks.hpp: a mask as bits with counts, created once for all columns and offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/select_kernels.hpp"
#include "cpu/work_partition.hpp"
#include "system/pages.hpp"
#include "upsweep/detail/content_column.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::cpu {

/// The marks of a range of a mask. They use 5/32 bytes of memory per element. For up to one block, nothing is
/// allocated.
class Marks {
 public:
  /// Throws std::bad_alloc.
  Marks(const Mask& mask, Range range, const SelectKernels& kernels, int workers);
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  [[nodiscard]] const MarkView& view() const { return view_; }
  [[nodiscard]] std::int64_t first() const { return range_.first; }  ///< in the mask
  [[nodiscard]] std::int64_t count() const { return range_.count; }
  [[nodiscard]] std::int64_t total() const { return view_.in_front[blocks()]; }
  [[nodiscard]] std::int64_t blocks() const { return ceil_div(range_.count, kMarkBlock); }
  /// Returns the number of marks that are set before a position.
  [[nodiscard]] std::int64_t rank(std::int64_t position) const {
    const auto at = static_cast<std::uint64_t>(position);
    const std::uint64_t lower = (std::uint64_t{1} << (at % kMarkWord)) - 1;
    return view_.in_front[at / kMarkBlock] + view_.before[at / kMarkWord] +
           popcount(view_.words[at / kMarkWord] & lower);
  }

 private:
  /// Not std::popcount: without an instruction that every CPU supports it is a call, and a table.
  static std::int64_t popcount(std::uint64_t word) {
    word -= (word >> 1) & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + ((word >> 2) & 0x3333333333333333U);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FU;
    return static_cast<std::int64_t>((word * 0x0101010101010101U) >> 56);
  }

  static constexpr std::int64_t kFewWords = kMarkBlock / kMarkWord + 2;

  Range range_;
  std::int64_t word_count_;  ///< including the two words past the last
  std::uint64_t few_words_[kFewWords];
  std::uint16_t few_before_[kFewWords];
  std::int64_t few_in_front_[2];
  Pages<std::uint64_t> many_words_;
  Pages<std::uint16_t> many_before_;
  std::vector<std::int64_t> many_in_front_;
  MarkView view_{};
};

/// Returns how many booleans of a range are true.
std::int64_t count_marks(const Mask& mask, Range range, const SelectKernels& kernels, int workers);

/// Compacts the marked elements of block `block` of a column's content to their place in the output.
void compact_block(const ContentColumn& column, const Marks& marks, std::int64_t block, const SelectKernels& kernels);
/// Compacts the elements that are not marked, after `base` elements.
void compact_others(const ContentColumn& column, const Marks& marks, std::int64_t block, std::int64_t base,
                    const SelectKernels& kernels);

}  // namespace upsweep::cpu
