// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cpu_threads.cpp: the loop on every core: threads take blocks and add up their sums.
//
// Idea   A sum modulo 2^64 is the same in any order. So each thread takes the next block of 2^14 rows and adds its sum
//        to the total.
// Cost   As cpu.serial. Work n, depth n/p.
// Needs  Any CPU.
// Limit  The same loop, on each core: one row per step. cpu.predicate_first compares 16 keys at a time.
// From   Own work; "Exercise Session 12" (C. Balkesen, ETH Zurich 2012) used one thread.
#include <atomic>
#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/tuning/dense.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/filtered_sum/rung.hpp"

namespace upsweep::impl::filtered_sum {

namespace {

constexpr std::int64_t kBlockRows = cpu::tuning::kFilteredSum.block_rows;

/// Bytes per row, used only to decide how many threads to wake: a key is four bytes, a kept row twenty.
constexpr std::int64_t kRowBytes = cpu::tuning::kFilteredSum.row_bytes;

/// Sums all blocks with `kernel` on `threads` threads (0: every core).
Status sum_blocks(const detail::FilteredSumCall& call, cpu::FilteredSum kernel, int threads) noexcept {
  const int workers = cpu::block_workers(cpu::ceil_div(call.n, cpu::kBlockBytes / kRowBytes), threads);
  if (workers == 1) {
    *call.out = static_cast<std::int64_t>(kernel(call.key, call.quantity, call.price, call.n, call.limit));
    return {};
  }
  // [guide: blocks]
  std::atomic<std::uint64_t> sum{0};
  cpu::for_each_block_on(workers, call.n, kBlockRows, [&](cpu::Range range) {
    const std::uint64_t partial =
        kernel(call.key + range.first, call.quantity + range.first, call.price + range.first, range.count, call.limit);
    sum.fetch_add(partial, std::memory_order_relaxed);  // the sum is read after all threads have finished
    return kNoIndex;
  });
  *call.out = static_cast<std::int64_t>(sum.load(std::memory_order_relaxed));
  // [guide: end]
  return {};
}

Status run(detail::FilteredSumCall& call, const Policy& policy) noexcept {
  return sum_blocks(call, cpu::kernels_plain().filtered_sum, policy.threads);
}

Status run_vectors(detail::FilteredSumCall& call, const Policy& policy) noexcept {
  return sum_blocks(call, cpu::kernels(policy.isa).filtered_sum, policy.threads);
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "threads take blocks of rows",
                                       .needs = "any CPU",
                                       .traffic = kTouched,
                                       .cost = "n, n/p",
                                       .limit = "a row per step, a mispredicted branch per kept row on each core"},
                              .run = run};

// cpu.predicate_first: compares vectors of keys first, then reads the payload of the kept rows; on every core.
//
// Idea   Keys are compared 64 at a time. The numbers of kept rows are put into a list, and their payload is prefetched.
//        The payload is added up a few thousand rows later, when it is in cache, so the core never waits for a single
//        cache line. If an eighth of the rows or more is kept, most lines of the payload are touched anyway. Then both
//        columns are read in order, and the products of all other rows are masked out. The number of kept rows among
//        the most recent rows determines which of the two methods is used.
// Cost   One pass: the keys and the touched lines of the payload, or all of it. Work n/16 + rows kept, depth n/(16·p).
// Needs  AVX-512, AVX2 or baseline.
// Limit  The read bandwidth of the machine. Only keys of fewer bits would be faster.
// From   Selection vectors of vectorized query execution (Boncz, Zukowski, Nes: MonetDB/X100, CIDR 2005).
extern const Rung cpu_predicate_first{.info = {.id = "cpu.predicate_first",
                                               .idea = "vectors of keys, then the payload that is kept",
                                               .needs = "AVX2, AVX-512 or baseline",
                                               .traffic = kTouched,
                                               .cost = "n/w + k, n/(w·p)",
                                               .limit = "the memory"},
                                      .refusal = needs_isa,
                                      .run = run_vectors};

}  // namespace upsweep::impl::filtered_sum
