// SPDX-License-Identifier: Apache-2.0
// cpu/segments.hpp: the three-phase scan by segments: scan each alone, scan their totals, broadcast those back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/blocks.hpp"
#include "upsweep/error.hpp"

namespace upsweep::cpu {

/// A range of elements or lists.
struct Range {
  std::int64_t first;
  std::int64_t count;
};

/// Segments have a fixed length and threads take runs of them, so that the order in which floats are added does not
/// depend on the number of threads.
inline constexpr std::int64_t kSegment = tuning::kBlocksOrder.segment;

/// The part number `index` of `n` elements cut every `length`.
constexpr Range part_of(std::int64_t n, std::int64_t length, std::int64_t index) {
  return {index * length, std::min(length, n - index * length)};
}
constexpr std::int64_t parts(std::int64_t n, std::int64_t length) { return (n + length - 1) / length; }

/// The smaller of two indices, where kNoIndex is none.
constexpr std::int64_t first_index(std::int64_t a, std::int64_t b) {
  return a == kNoIndex ? b : (b == kNoIndex ? a : std::min(a, b));
}

/// The lowest index that any thread adds; kNoIndex is none. Read it when the threads are done.
class LowestIndex {
 public:
  void add(std::int64_t index) {
    std::int64_t known = lowest_.load(std::memory_order_relaxed);
    while (first_index(known, index) != known &&
           !lowest_.compare_exchange_weak(known, index, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::int64_t get() const { return lowest_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> lowest_{kNoIndex};
};

/// Scans n elements of `pieces` by segments, `carry` preceding them; carry becomes what precedes the next element.
/// Returns the first bad index or kNoIndex. `Pieces` is what a problem does to a range: see problems/dense/scan/ranges.hpp.
template <class Pieces>
std::int64_t scan_segments(const Pieces& pieces, std::int64_t n, int threads, typename Pieces::Carry& carry) {
  const std::int64_t count = parts(n, kSegment);
  std::vector<typename Pieces::Carry> carries(static_cast<std::size_t>(count));
  LowestIndex first_bad;
  const auto carry_of = [&](std::int64_t segment) ->
      typename Pieces::Carry& { return carries[static_cast<std::size_t>(segment)]; };

  // ---- Phase 1: every segment is scanned as if nothing preceded it; its last value is its total.
  for_each_piece(count, threads, [&](std::int64_t s) {
    pieces.clear(carry_of(s));
    first_bad.add(pieces.scan_alone(part_of(n, kSegment, s), carry_of(s)));
  });

  // ---- Phase 2: an exclusive scan of the totals, in place: carries[s] becomes what precedes segment s.
  for (auto& total : carries) {
    const typename Pieces::Carry before = carry;
    pieces.merge(carry, total);
    total = before;
  }

  // ---- Phase 3: what precedes a segment is combined into all of it.
  for_each_piece(count, threads,
                 [&](std::int64_t s) { first_bad.add(pieces.shift(part_of(n, kSegment, s), carry_of(s))); });
  return first_bad.get();
}

}  // namespace upsweep::cpu
