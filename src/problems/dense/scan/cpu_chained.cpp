// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cpu_chained.cpp: one pass over memory: blocks in cache are reduced, linked and scanned.
//
// Idea   Threads take cache-sized blocks in order. A block is first reduced, which loads it into cache. Then the thread
//        waits for the carry of the previous block and publishes its own. Only then is the block scanned,
//        from cache, with stores that bypass the cache. During the scan, the thread prefetches its next block.
// Cost   One pass: n read, n written: the traffic of a copy. Work n + n·log2 w, depth n/(p·w) + blocks.
// Needs  Any CPU, any associative operator; compiled operators run on SIMD, others on the plain loop.
// Limit  The chain, on many cores. All threads poll one word, so each hand-over takes 3 us on 64 cores of a Xeon, a
//        virtual machine. The chain also stops whenever the thread whose turn it is loses its core. Therefore 64
//        threads are slower than 16 on this machine. Up to 16 threads, the limit is the memory bandwidth of the
//        machine. In cpu.lookahead no thread waits for the carry of another thread.
// From   S. Yan, G. Long, Y. Zhang, "StreamScan", PPoPP 2013, and D. Merrill, M. Garland, NVR-2016-002, for GPUs; I. de
//        Wolff et al., PMAM 2024, for CPUs. The carry of a float sum includes the rounding error, so errors do not add
//        up over blocks.
#include <atomic>
#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/scan/ranges.hpp"
#include "problems/dense/scan/rung.hpp"

namespace upsweep::impl::scan {

namespace {

/// Waits until `turn` is `block`. The wait spins, because it is shorter than a system call. From time to time it yields
/// the core, because the thread that it waits for may have no core. wait_until() of subset_sum yields at every check
/// after some time; this function does not. On many cores, long waits are normal in this rung, and a thread that is in
/// a system call when its turn comes delays every later block.
void wait_for_turn(const std::atomic<std::int64_t>& turn, std::int64_t block) {
  cpu::GiveWay give_way;
  for (int spins = 0; turn.load(std::memory_order_acquire) != block; ++spins) {
    if (spins % 128 == 127) {
      give_way();
    } else {
      cpu::pause();
    }
  }
}

/// Scans n elements in blocks. `carry` precedes them, and becomes the value that precedes the next element. Returns the
/// first bad index or kNoIndex. Any number of workers makes progress, also one worker. A block waits only for the
/// previous block, which was taken earlier by a worker that is running.
std::int64_t scan_chained(const ScanRanges& ranges, std::int64_t n, int threads, ScanRanges::Carry& carry) {
  const std::int64_t block = ranges.block();
  const std::int64_t count = cpu::ceil_div(n, block);
  const int workers = cpu::block_workers(count, threads);
  // One thread needs no total in advance, if the scan gives the same bits.
  const bool reduce_first = workers > 1 || !ranges.exact();
  alignas(64) std::atomic<std::int64_t> ticket{0};
  alignas(64) std::atomic<std::int64_t> turn{0};  // the block whose predecessors are all in `carry`
  cpu::LowestIndex first_bad;

  cpu::run_workers(workers, [&](int) {
    std::int64_t bad = kNoIndex;
    std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
    while (mine < count) {
      // The next block is taken now, so that it can be prefetched while this one is scanned. Blocks are taken in order,
      // and a worker processes its blocks in order, so some worker is always processing the first unfinished block.
      const std::int64_t next = ticket.fetch_add(1, std::memory_order_relaxed);
      const cpu::Range range = cpu::block_of(n, block, mine);
      const cpu::Range ahead = next < count ? cpu::block_of(n, block, next) : cpu::Range{0, 0};

      // [guide: chain]
      // ---- Reduce: reads the block from memory and leaves it in cache.
      ScanRanges::Carry total;
      if (reduce_first) ranges.reduce(range, total);

      // ---- Take the predecessor's carry and publish ours. Acquire: the carry was written before our turn.
      // Release: our carry is written before the next turn.
      wait_for_turn(turn, mine);
      ScanRanges::Carry before = carry;
      const bool publish_first = reduce_first && !ranges.prefers_scan(carry, total);
      if (publish_first) {
        ranges.merge(carry, total);
        turn.store(mine + 1, std::memory_order_release);
      }

      // ---- Scan: reads the block from cache and writes it once.
      bad = cpu::first_index(bad, ranges.scan(range, before, ahead));
      if (!publish_first) {
        carry = before;
        turn.store(mine + 1, std::memory_order_release);
      }
      mine = next;
      // [guide: end]
    }
    first_bad.add(bad);
  });
  return first_bad.get();
}

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_ranges(call, policy, cpu::kernels(policy.isa), [&](const ScanRanges& ranges, ScanRanges::Carry& carry) {
    return scan_chained(ranges, call.n, policy.threads, carry);
  });
}

}  // namespace

// The bound: 2048 vectors of a block one after the other, 4 levels within a vector, and the error of a block total.
// The error of a total is up to 516 (512 additions per accumulator, 2 to join them, 4 within a vector). Totals are
// added with compensation.
extern const Rung cpu_chained{.info = {.id = "cpu.chained",
                                       .idea = "one pass: blocks in cache, linked by carries",
                                       .needs = "any CPU",
                                       .traffic = "n read, n written",
                                       .cost = "n + n·log w, n/(p·w) + blocks",
                                       .limit = "on few cores the memory; on many, the chain",
                                       .float_bound = {.serial = false, .constant = 1300}},
                              .refusal = needs_isa,
                              .run = run};

}  // namespace upsweep::impl::scan
