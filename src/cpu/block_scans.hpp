// SPDX-License-Identifier: Apache-2.0
// cpu/block_scans.hpp: scans by blocks: in order by one thread, or in three phases by several. One pass: lookahead.hpp.
//
// `Ranges` defines what a problem computes for a range of its elements: see problems/dense/scan/ranges.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/tuning/blocks.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::cpu {

/// Sub-blocks of a block. While one is scanned, the next one is prefetched.
inline constexpr std::int64_t kSubBlocks = tuning::kBlocks.sub_blocks;

/// Returns the bytes before the next cache line. A sub-block of an output that begins with a cache line is stored in
/// whole vectors.
inline std::int64_t before_line(const void* out) {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(out) % 64);
}

/// The sub-blocks of a block: quarters of the block. A thread folds or scans one sub-block at a time.
template <class Ranges>
class SubBlocks {
 public:
  using Carry = typename Ranges::Carry;

  explicit SubBlocks(const Ranges& ranges)
      : ranges_(ranges), first_(ranges.first_sub_block()), each_(ranges.sub_block()) {}

  /// Returns the end of the sub-block that begins at `at`, in a block of `count` elements.
  [[nodiscard]] std::int64_t end(std::int64_t at, std::int64_t count) const {
    return std::min(count, at == 0 ? first_ : at + each_);
  }
  /// total ← the fold of the block.
  void fold(Range block, Carry& total) const {
    ranges_.clear(total);
    for (std::int64_t at = 0; at < block.count;) {
      const std::int64_t next = end(at, block.count);
      Carry own;
      ranges_.reduce({block.first + at, next - at}, own);
      ranges_.merge(total, own);
      at = next;
    }
  }

 private:
  const Ranges& ranges_;
  std::int64_t first_;
  std::int64_t each_;
};

/// One thread scans the blocks in order, sub-block by sub-block, until a block contains an error. `carry` is the fold
/// of the elements before the range, and becomes the fold including the range. Returns the first bad index or kNoIndex.
template <class Ranges>
std::int64_t scan_in_order(const Ranges& ranges, std::int64_t n, typename Ranges::Carry& carry) {
  const SubBlocks<Ranges> sub_blocks(ranges);
  const std::int64_t block = ranges.block();
  std::int64_t bad = kNoIndex;
  for (std::int64_t first = 0; first < n && bad == kNoIndex; first += block) {
    const std::int64_t count = std::min(block, n - first);
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t end = sub_blocks.end(at, count);
      bad = first_index(bad,
                        ranges.scan({first + at, end - at}, carry, {first + end, std::min(end - at, n - first - end)}));
      at = end;
    }
  }
  finish_stores();
  return bad;
}

/// Number of elements of a long block. The length is fixed, and a thread processes several blocks. Therefore the order
/// in which floats are added does not depend on the number of threads.
inline constexpr std::int64_t kLongBlock = tuning::kBlocksOrder.long_block;

/// Scans n elements in long blocks. `carry` is the fold of the elements before them, and becomes the fold including
/// them. Returns the first bad index or kNoIndex.
template <class Ranges>
std::int64_t scan_in_three_phases(const Ranges& ranges, std::int64_t n, int threads, typename Ranges::Carry& carry) {
  const std::int64_t count = ceil_div(n, kLongBlock);
  std::vector<typename Ranges::Carry> carries(static_cast<std::size_t>(count));
  LowestIndex first_bad;
  const auto carry_of = [&](std::int64_t block) ->
      typename Ranges::Carry& { return carries[static_cast<std::size_t>(block)]; };

  // ---- Phase 1: every block is scanned as if nothing preceded it. The last value of a block is its total.
  for_each_index(count, threads, [&](std::int64_t b) {
    ranges.clear(carry_of(b));
    first_bad.add(ranges.scan_alone(block_of(n, kLongBlock, b), carry_of(b)));
  });

  // ---- Phase 2: an exclusive scan of the totals, in place. carries[b] becomes the fold of all blocks before block b.
  for (auto& total : carries) {
    const typename Ranges::Carry before = carry;
    ranges.merge(carry, total);
    total = before;
  }

  // ---- Phase 3: the fold of all blocks before a block is combined into each element of the block.
  for_each_index(count, threads,
                 [&](std::int64_t b) { first_bad.add(ranges.shift(block_of(n, kLongBlock, b), carry_of(b))); });
  return first_bad.get();
}

}  // namespace upsweep::cpu
