// SPDX-License-Identifier: Apache-2.0
// cpu/blocks.hpp: cache-sized blocks of an array, done in order by one thread, or in any order by several.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cpu/parallel.hpp"
#include "cpu/segments.hpp"
#include "cpu/tuning/blocks.hpp"

namespace upsweep::cpu {

/// Bytes of a block, of its input or its output, whichever are more.
inline constexpr std::int64_t kBlockBytes = tuning::kBlocksOrder.block_bytes;

/// Strips of a block. While one is scanned the next one is fetched.
inline constexpr std::int64_t kStrips = tuning::kBlocks.strips;

/// Bytes before the next cache line. Strips of an output that begin with one are stored in whole vectors.
inline std::int64_t before_line(const void* out) {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(out) % 64);
}

/// Waking a thread takes about as long as it takes a core to do four blocks, so there are at most that many per worker.
inline int block_workers(std::int64_t blocks, int threads) { return workers_for(blocks, 4, threads); }

/// The strips of a block: what is folded or scanned at a time. While one is in work the next one is fetched.
template <class Pieces>
class Strips {
 public:
  using Carry = typename Pieces::Carry;

  explicit Strips(const Pieces& pieces) : pieces_(pieces), first_(pieces.first_strip()), each_(pieces.strip()) {}

  /// Where the strip ends that begins at `at`, in a block of `count` elements.
  [[nodiscard]] std::int64_t end(std::int64_t at, std::int64_t count) const {
    return std::min(count, at == 0 ? first_ : at + each_);
  }
  /// total ← the fold of the block.
  void fold(Range block, Carry& total) const {
    pieces_.clear(total);
    for (std::int64_t at = 0; at < block.count;) {
      const std::int64_t next = end(at, block.count);
      Carry part;
      pieces_.reduce({block.first + at, next - at}, part);
      pieces_.merge(total, part);
      at = next;
    }
  }

 private:
  const Pieces& pieces_;
  std::int64_t first_;
  std::int64_t each_;
};

/// One thread, block after block, strip by strip, until a block has something bad in it. `carry` precedes it all and becomes
/// what precedes the next element. Returns the first bad index or kNoIndex.
template <class Pieces>
std::int64_t scan_in_order(const Pieces& pieces, std::int64_t n, typename Pieces::Carry& carry) {
  const Strips<Pieces> strips(pieces);
  const std::int64_t block = pieces.block();
  std::int64_t bad = kNoIndex;
  for (std::int64_t first = 0; first < n && bad == kNoIndex; first += block) {
    const std::int64_t count = std::min(block, n - first);
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t end = strips.end(at, count);
      bad = first_index(bad,
                        pieces.scan({first + at, end - at}, carry, {first + end, std::min(end - at, n - first - end)}));
      at = end;
    }
  }
  finish_stores();
  return bad;
}

/// Runs work(range) on every block, in any order on any worker: for rungs whose blocks do not depend on each other. Whoever
/// is done with one takes the next, so that a worker whose core is slow, or taken away, holds up no other block than its own.
/// work returns the first bad index of its range or kNoIndex; so does this.
template <class Work>
std::int64_t for_each_block_on(int workers, std::int64_t n, std::int64_t block, Work work) {
  const std::int64_t count = parts(n, block);
  std::atomic<std::int64_t> ticket{0};
  LowestIndex first_bad;
  run_workers(workers, [&](int) {
    for (;;) {
      const std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
      if (mine >= count) return;
      first_bad.add(work(part_of(n, block, mine)));
    }
  });
  return first_bad.get();
}

/// The same on as many workers as blocks of about kBlockBytes are worth.
template <class Work>
std::int64_t for_each_block(std::int64_t n, std::int64_t block, int threads, Work work) {
  return for_each_block_on(block_workers(parts(n, block), threads), n, block, work);
}

}  // namespace upsweep::cpu
