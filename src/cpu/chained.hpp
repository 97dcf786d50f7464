// SPDX-License-Identifier: Apache-2.0
// cpu/chained.hpp: the chained scan: one pass over memory, in cache-sized blocks whose carries are handed on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "cpu/parallel.hpp"
#include "cpu/segments.hpp"

namespace upsweep::cpu {

/// Output bytes of a block. Its input must still be in the core's own cache when it is read for the second time: on a
/// Xeon with 1 MB per core, 64 KB to 256 KB run at the same speed, 512 KB are 5 to 15 % slower.
inline constexpr std::int64_t kBlockBytes = 128 * 1024;

/// Waking a thread takes about as long as it takes a core to do four blocks, so there are at most that many per worker.
inline int block_workers(std::int64_t blocks, int threads) {
  return static_cast<int>(std::clamp<std::int64_t>(blocks / 4, 1, worker_count(threads)));
}

/// One thread, range after range of `block` elements: a range is checked while it lies in cache. `carry` precedes it
/// all and becomes what precedes the next element. Returns the first bad index or kNoIndex.
template <class Pieces>
std::int64_t scan_in_order(const Pieces& pieces, std::int64_t n, std::int64_t block, typename Pieces::Carry& carry) {
  std::int64_t bad = kNoIndex;
  for (std::int64_t first = 0; first < n && bad == kNoIndex; first += block) {
    bad = pieces.scan({first, std::min(block, n - first)}, carry);
  }
  return bad;
}

/// Waits for `turn` to reach `block`: it spins, as the wait is shorter than a system call, but gives the core up once
/// in a while for the case that the thread it waits for has none.
inline void wait_for_turn(const std::atomic<std::int64_t>& turn, std::int64_t block) {
  for (int spins = 0; turn.load(std::memory_order_acquire) != block; ++spins) {
    if (spins % 128 == 127) {
      std::this_thread::yield();
    } else {
      pause();
    }
  }
}

/// Scans n elements of `pieces` in blocks of `block` elements, `carry` preceding them; carry becomes what precedes the
/// next element. Returns the first bad index or kNoIndex. Any number of workers makes progress, one included: a block
/// waits only for the one before it, which was taken earlier by a worker that is running.
template <class Pieces>
std::int64_t scan_chained(const Pieces& pieces, std::int64_t n, std::int64_t block, int threads,
                          typename Pieces::Carry& carry) {
  const std::int64_t count = parts(n, block);
  const int workers = block_workers(count, threads);
  // One thread needs no total ahead of time, if scanning alone gives the same bits.
  const bool reduce_first = workers > 1 || !pieces.exact();
  alignas(64) std::atomic<std::int64_t> ticket{0};
  alignas(64) std::atomic<std::int64_t> turn{0};  // the block whose predecessors are all in `carry`
  LowestIndex first_bad;

  run_workers(workers, [&](int) {
    std::int64_t bad = kNoIndex;
    std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
    while (mine < count) {
      // The next block is taken now, so that it can be fetched into cache while this one is scanned. Blocks are taken
      // in order and a worker does its own in order, so the first block not done is always in work.
      const std::int64_t next = ticket.fetch_add(1, std::memory_order_relaxed);
      const Range range = part_of(n, block, mine);
      const Range ahead = next < count ? part_of(n, block, next) : Range{0, 0};

      // ---- Reduce: reads the block from memory and leaves it in cache.
      typename Pieces::Carry total;
      if (reduce_first) pieces.reduce(range, total);

      // ---- Take the predecessor's carry, publish ours. Acquire: the carry was written before the turn came to us.
      // Release: our carry is written before the turn goes on.
      wait_for_turn(turn, mine);
      typename Pieces::Carry before = carry;
      const bool publish_first = reduce_first && !pieces.prefers_scan(carry, total);
      if (publish_first) {
        pieces.merge(carry, total);
        turn.store(mine + 1, std::memory_order_release);
      }

      // ---- Scan: reads the block from cache and writes it once.
      bad = first_index(bad, pieces.scan(range, before, ahead));
      if (!publish_first) {
        carry = before;
        turn.store(mine + 1, std::memory_order_release);
      }
      mine = next;
    }
    first_bad.add(bad);
  });
  return first_bad.get();
}

/// Runs work(range) on every block, in any order on any thread: for rungs whose blocks do not depend on each other.
/// work returns the first bad index of its range or kNoIndex; so does this.
template <class Work>
std::int64_t for_each_block(std::int64_t n, std::int64_t block, int threads, Work work) {
  const std::int64_t count = parts(n, block);
  std::atomic<std::int64_t> ticket{0};
  LowestIndex first_bad;
  run_workers(block_workers(count, threads), [&](int) {
    for (;;) {
      const std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
      if (mine >= count) return;
      first_bad.add(work(part_of(n, block, mine)));
    }
  });
  return first_bad.get();
}

}  // namespace upsweep::cpu
