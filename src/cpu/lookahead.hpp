// SPDX-License-Identifier: Apache-2.0
// cpu/lookahead.hpp: the look-ahead scan: one pass in cache-sized blocks, folded well before they are scanned.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "cpu/block_scans.hpp"
#include "cpu/block_totals.hpp"
#include "cpu/parallel.hpp"
#include "cpu/tuning/threads.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::cpu {

/// Scans the elements of `ranges` in blocks, on any number of workers, which take blocks in order. A worker folds a
/// block sub-block by sub-block, and publishes the total. Every worker merges the totals of all blocks before its own
/// block, in order. The result has the same bits for any number of workers. No worker waits for a carry from another
/// worker:
///  - A worker has folded kAhead blocks that it has not scanned. It scans the oldest one and folds the next one. A
///    total is therefore known for at least a block's time before a worker needs it, even if memory delays single
///    blocks.
///  - For each sub-block that a worker scans, it folds a sub-block of another block, and prefetches the next one.
///    Memory is therefore always busy. Offsets scan and fold in one loop: two loops, one after the other, take 1.08 to
///    1.2 times as long (Xeon, 2 to 8 threads).
///  - A worker waits for a total at most as long as a block takes. Then it folds that block itself. Therefore a worker
///    that has lost its core delays no other worker, as in a copy.
/// A worker waits only for blocks that were taken earlier, by workers that have begun. Any number of workers therefore
/// makes progress on any number of cores.
template <class Ranges>
class Lookahead {
 public:
  using Carry = typename Ranges::Carry;

  /// Throws std::bad_alloc.
  Lookahead(const Ranges& ranges, std::int64_t n, const Carry& before)
      : ranges_(ranges),
        sub_blocks_(ranges),
        n_(n),
        length_(ranges.block()),
        count_(ceil_div(n, length_)),
        carry_(before),
        end_(before),
        totals_(2 * count_, ranges.carry_bytes()) {}

  /// Processes one worker's blocks. Returns the first bad index that it saw or kNoIndex.
  std::int64_t work() {
    Held held[std::size_t{kAhead}];
    std::int64_t newest = take_ticket();
    for (Held& block : held) {
      block.index = newest;
      if (newest >= count_) continue;
      fold(block);
      newest = take_ticket();
    }
    std::int64_t bad = kNoIndex;
    Reader reader(carry_);
    for (int oldest = 0; held[oldest].index < count_; oldest = (oldest + 1) % kAhead) {
      const std::int64_t next = take_ticket();
      advance(reader, held[oldest].index);
      bad = first_index(bad, scan(held[oldest], reader.prefix, newest, next));
      newest = next;
    }
    return bad;
  }

  /// Returns the carry after the last element, once all workers are done.
  [[nodiscard]] const Carry& end() const { return end_; }

 private:
  static constexpr int kAhead = tuning::kLookahead.ahead;
  // The time in cycles that a worker waits before it folds a block instead of its owner: as long as its own last block
  // took, within these limits. If it folded earlier, it would fold blocks whose totals are about to be published.
  static constexpr std::uint64_t kMinSpinLimit = tuning::kLookahead.min_spin_cycles;
  static constexpr std::uint64_t kFirstSpinLimit = tuning::kLookahead.first_spin_cycles;

  /// A block that a worker has folded but not scanned yet.
  struct Held {
    std::int64_t index;
    Carry total;
  };

  /// The totals that a worker has merged.
  struct Reader {
    explicit Reader(const Carry& before) : prefix(before) {}
    Carry prefix;  // what precedes block `next`
    std::int64_t next = 0;
    std::uint64_t spin_limit = kFirstSpinLimit;
    std::uint64_t left = 0;  // when advance() returned, in cycles
  };

  std::int64_t take_ticket() { return ticket_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] Range range_of(std::int64_t block) const { return block_of(n_, length_, block); }
  [[nodiscard]] bool is_whole(std::int64_t block) const { return (block + 1) * length_ <= n_; }
  /// Returns the slot of the carry after a block, if that is not the merged totals.
  [[nodiscard]] std::int64_t end_slot(std::int64_t block) const { return count_ + block; }

  void fold(Held& block) {
    sub_blocks_.fold(range_of(block.index), block.total);
    totals_.publish(block.index, &block.total);
  }

  // ---- The carry before a block.

  /// reader.prefix ← what precedes `block`. Blocks must be requested in order.
  void advance(Reader& reader, std::int64_t block) {
    const std::uint64_t now = cycles();
    if (reader.left != 0) reader.spin_limit = std::max(now - reader.left, kMinSpinLimit);
    for (std::int64_t b = reader.next; b < block; ++b) totals_.fetch(b);
    for (; reader.next < block; ++reader.next) {
      Carry total;
      if (!totals_.read(reader.next, &total)) await_total(reader, block, now + reader.spin_limit, total);
      if (ranges_.prefers_scan(reader.prefix, total)) {
        for (GiveWay give_way; !totals_.read(end_slot(reader.next), &reader.prefix);) give_way();
      } else {
        ranges_.merge(reader.prefix, total);
      }
    }
    reader.left = cycles();
  }

  /// total ← that of block reader.next. After `limit` this worker folds it itself, and other blocks before `block`. In
  /// the second round it insists, so it never has to wait for another thread, and does not need GiveWay.
  void await_total(const Reader& reader, std::int64_t block, std::uint64_t limit, Carry& total) {
    bool insists = false;  // true: folds even if another thread does, which may also have lost its core
    for (int spins = 1; !totals_.read(reader.next, &total); ++spins) {
      pause();
      if (spins % 16 != 0 || cycles() < limit) continue;
      if (help(reader.next, insists, total)) return;
      for (std::int64_t b = reader.next + 1; b < block; ++b) {
        Carry other;
        (void)help(b, false, other);
      }
      std::this_thread::yield();
      limit = cycles() + reader.spin_limit;
      insists = true;
    }
  }

  /// Folds a block that another worker has taken. The same elements, folded in the same order, have the same bits.
  bool help(std::int64_t block, bool insists, Carry& total) {
    if (!totals_.begin_help(block, insists)) return false;
    sub_blocks_.fold(range_of(block), total);
    totals_.publish(block, &total);
    totals_.end_help(block);
    return true;
  }

  // ---- Scanning.

  /// Scans the block, with `before` before it, and folds block `newest`, if it exists, which replaces it. `next` is the
  /// block that is folded after that.
  std::int64_t scan(Held& block, const Carry& before, std::int64_t newest, std::int64_t next) {
    const Held old = block;
    block.index = newest;
    // In place: a helper may still read the elements that are overwritten now.
    for (GiveWay give_way; ranges_.in_place() && !totals_.is_left(old.index);) give_way();
    Carry carry = before;
    std::int64_t bad = kNoIndex;
    if (is_whole(newest)) {
      bad = scan_and_fold(old.index, carry, block, next);
    } else {
      if (newest < count_) fold(block);
      bad = ranges_.scan(range_of(old.index), carry);
    }
    hand_on(old, before, carry);
    return bad;
  }

  std::int64_t scan_and_fold(std::int64_t scanned, Carry& carry, Held& folded, std::int64_t next) {
    const std::int64_t from = range_of(scanned).first;
    const std::int64_t other = range_of(folded.index).first;
    const Range after = is_whole(next) ? Range{range_of(next).first, sub_blocks_.end(0, length_)} : Range{0, 0};
    ranges_.clear(folded.total);
    std::int64_t bad = kNoIndex;
    for (std::int64_t at = 0; at < length_;) {
      const std::int64_t end = sub_blocks_.end(at, length_);
      const Range ahead = end < length_ ? Range{other + end, sub_blocks_.end(end, length_) - end} : after;
      const Range sub_block{from + at, end - at};
      const Range beside{other + at, end - at};
      bad = first_index(bad, ranges_.scan_and_fold(sub_block, carry, ahead, beside, folded.total));
      at = end;
    }
    totals_.publish(folded.index, &folded.total);
    return bad;
  }

  /// `carry` is the carry after the scan of the block.
  void hand_on(const Held& block, const Carry& before, const Carry& carry) {
    const bool scanned = ranges_.prefers_scan(before, block.total);
    if (scanned) totals_.publish(end_slot(block.index), &carry);
    if (block.index != count_ - 1) return;
    end_ = scanned ? carry : before;
    if (!scanned) ranges_.merge(end_, block.total);
  }

  const Ranges& ranges_;
  const SubBlocks<Ranges> sub_blocks_;
  const std::int64_t n_;
  const std::int64_t length_;  // of a block
  const std::int64_t count_;
  const Carry carry_;  // precedes the first element
  Carry end_;
  BlockTotals totals_;
  alignas(64) std::atomic<std::int64_t> ticket_{0};
};

/// Scans with one worker, with the bits of several workers. Every sub-block is folded and immediately scanned, while it
/// is in the core's L1. Returns the first bad index or kNoIndex. `carry` becomes the carry before the next element.
template <class Ranges>
std::int64_t fold_and_scan_in_order(const Ranges& ranges, std::int64_t n, typename Ranges::Carry& carry) {
  const SubBlocks<Ranges> sub_blocks(ranges);
  std::int64_t bad = kNoIndex;
  for (std::int64_t first = 0; first < n; first += ranges.block()) {
    const std::int64_t count = std::min(ranges.block(), n - first);
    typename Ranges::Carry scanned = carry;
    typename Ranges::Carry total;
    ranges.clear(total);
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t end = sub_blocks.end(at, count);
      const Range sub_block{first + at, end - at};
      typename Ranges::Carry own;
      ranges.reduce(sub_block, own);
      ranges.merge(total, own);
      bad = first_index(bad, ranges.scan(sub_block, scanned, {first + end, std::min(end - at, n - first - end)}));
      at = end;
    }
    if (ranges.prefers_scan(carry, total)) {
      carry = scanned;
    } else {
      ranges.merge(carry, total);
    }
  }
  finish_stores();
  return bad;
}

/// Scans n elements of `ranges`, with `carry` before them. `carry` becomes the carry before the next element. Returns
/// the first bad index or kNoIndex. `Ranges` defines the work on a range: see problems/dense/scan/ranges.hpp. Throws
/// std::bad_alloc.
template <class Ranges>
std::int64_t scan_lookahead(const Ranges& ranges, std::int64_t n, int threads, typename Ranges::Carry& carry) {
  const int workers = block_workers(ceil_div(n, ranges.block()), threads);
  // One worker needs no totals if a scan alone produces the same bits.
  if (workers == 1) return ranges.exact() ? scan_in_order(ranges, n, carry) : fold_and_scan_in_order(ranges, n, carry);
  Lookahead<Ranges> schedule(ranges, n, carry);
  LowestIndex first_bad;
  run_workers(workers, [&](int) { first_bad.add(schedule.work()); });
  carry = schedule.end();
  return first_bad.get();
}

}  // namespace upsweep::cpu
