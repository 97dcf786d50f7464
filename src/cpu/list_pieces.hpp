// SPDX-License-Identifier: Apache-2.0
// cpu/list_pieces.hpp: lists in any order, cut into pieces of equal work wherever they lie and however long they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/blocks.hpp"
#include "cpu/tuning/lists.hpp"

namespace upsweep::cpu {

/// What a list reads, in elements, and what it writes.
struct ListSize {
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  bool is_bad = false;
};

/// The elements from … to - 1 of a list, whose first one goes to element `out` of the output.
struct ListPart {
  std::int64_t list = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  ListSize size;           ///< of the whole list
  std::int64_t out = 0;    ///< where the list's output begins
  bool has_begin = false;  ///< whether the list itself belongs to this piece, and not only a part of it
};

/// Two passes over the lists, each on any number of workers: the first one measures blocks of lists, the second one does
/// pieces of equal work, which begin and end anywhere in a list. A list counts as kListWork elements, so that empty ones are
/// spread as well.
class ListPieces {
 public:
  /// measure(i) is the ListSize of list i. Throws std::bad_alloc.
  template <class Measure>
  ListPieces(std::int64_t lists, int workers, const Measure& measure) : lists_(lists), workers_(workers) {
    blocks_.resize(static_cast<std::size_t>(parts(lists, kBlockLists)) + 1);
    first_bad_ = for_each_block_on(workers, lists, kBlocksAtOnce * kBlockLists, [&](Range range) {
      std::int64_t bad = kNoIndex;
      const std::int64_t end = range.first + range.count;
      for (std::int64_t first = range.first; first < end; first += kBlockLists) {
        bad = first_index(bad, measure_block(first, std::min(first + kBlockLists, end), measure));
      }
      return bad;
    });
    add_up();
  }

  [[nodiscard]] std::int64_t first_bad() const { return first_bad_; }
  /// Whether there are more elements than int64 counts.
  [[nodiscard]] bool overflows() const { return overflows_; }
  [[nodiscard]] std::int64_t writes() const { return blocks_.back().writes; }

  /// In every piece: `auto part = begin()`, part(ListPart) for each list, part.finish().
  template <class Measure, class Begin>
  void for_each(const Measure& measure, const Begin& begin) const {
    for_each_block_on(workers_, blocks_.back().work, kPieceWork, [&](Range piece) {
      auto part = begin();
      visit(piece.first, piece.first + piece.count, measure, part);
      part.finish();
      return kNoIndex;
    });
  }

 private:
  static constexpr std::int64_t kListWork = tuning::kListPieces.list_work;
  static constexpr std::int64_t kBlockLists = tuning::kListPieces.block_lists;
  static constexpr std::int64_t kBlocksAtOnce = tuning::kListPieces.blocks;
  static constexpr std::int64_t kPieceWork = tuning::kListPieces.piece_work;

  /// What precedes a block.
  struct Block {
    std::int64_t work = 0;
    std::int64_t writes = 0;
  };

  template <class Measure>
  std::int64_t measure_block(std::int64_t first, std::int64_t end, const Measure& measure) {
    Block block;  // not the one in memory, which could be what measure() reads, for all the compiler knows
    std::int64_t bad = kNoIndex;
    for (std::int64_t i = first; i < end; ++i) {
      const ListSize size = measure(i);
      if (size.is_bad) bad = first_index(bad, i);
      block.work += kListWork + size.reads;
      block.writes += size.writes;
    }
    blocks_[static_cast<std::size_t>(first / kBlockLists)] = block;
    return bad;
  }

  void add_up() {
    Block before;
    for (Block& block : blocks_) {
      const Block own = block;
      block = before;
      overflows_ |= __builtin_add_overflow(before.work, own.work, &before.work);
      before.writes += own.writes;  // no more than work
    }
  }

  template <class Measure, class Part>
  void visit(std::int64_t from, std::int64_t to, const Measure& measure, Part& part) const {
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), from,
                                        [](std::int64_t work, const Block& block) { return work < block.work; });
    const auto found = after - blocks_.begin() - 1;
    std::int64_t work = blocks_[static_cast<std::size_t>(found)].work;
    std::int64_t out = blocks_[static_cast<std::size_t>(found)].writes;
    for (std::int64_t i = found * kBlockLists; i < lists_ && work < to; ++i) {
      const ListSize size = measure(i);
      const std::int64_t elements = work + kListWork;  // where the list's elements begin, in work
      const ListPart one{.list = i,
                         .from = std::clamp<std::int64_t>(from - elements, 0, size.reads),
                         .to = std::clamp<std::int64_t>(to - elements, 0, size.reads),
                         .size = size,
                         .out = out,
                         .has_begin = work >= from};
      work = elements + size.reads;
      out += size.writes;
      if (work > from) part(one);
    }
  }

  std::int64_t lists_;
  int workers_;
  std::vector<Block> blocks_;
  std::int64_t first_bad_ = kNoIndex;
  bool overflows_ = false;
};

}  // namespace upsweep::cpu
