// SPDX-License-Identifier: Apache-2.0
// subset_sum/wavefront.hpp: several items added to a bitmap of sums in one pass over it, in place, by every thread.
//
// Each thread has a slice of the words. In it item 1 goes from the top down, a block at a time, and every further item
// follows those before it at the distance that it reads below: what it reads, they have done, and it is still in cache.
// What a slice reads below its own first word is another thread's: copied before any thread begins (its halo), and
// advanced there once more. Where every sum of a tile is reached, nothing can be added: it is skipped from then on.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/bit_kernels.hpp"
#include "cpu/pages.hpp"
#include "subset_sum/bitmap.hpp"

namespace upsweep::subset_sum {

class Wavefront {
 public:
  /// For a bitmap of so many words and items up to `largest`.
  Wavefront(Word* sums, std::int64_t words, std::int64_t largest, Isa isa, int threads);

  /// How many of the items (each > 0) one pass over so many words takes: at least one.
  [[nodiscard]] std::int64_t items_of_pass(const std::int64_t* items, std::int64_t n, std::int64_t words) const;
  /// Adds these items to the words low … top - 1; those below are read only. `count` is at most items_of_pass().
  void pass(const std::int64_t* items, std::int64_t count, std::int64_t low, std::int64_t top);

 private:
  struct Slice;
  [[nodiscard]] int workers_of(std::int64_t words, std::int64_t halo) const;
  void copy_halo(const Slice& slice) const;
  void advance(const Slice& slice, const std::int64_t* items, std::int64_t count);
  void shift_or(const Slice& slice, std::int64_t item, std::int64_t first, std::int64_t last);
  void shift_or_open(const Word* source, std::int64_t first, std::int64_t last, int shift);
  void look_for_full(const Slice& slice, std::int64_t first, std::int64_t last);

  Word* sums_;
  const cpu::BitKernels& kernels_;
  int threads_;
  std::vector<cpu::Pages<Word>> halos_;  // of every worker but the lowest
  std::vector<std::uint8_t> is_full_;    // tiles of which every sum is reached
};

}  // namespace upsweep::subset_sum
