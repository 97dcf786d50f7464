// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cpu_threads.cpp: the loop on every core: threads take block after block and add up their sums.
//
// Idea   A sum modulo 2^64 is the same in any order, so threads take blocks of 2^14 rows as they come, and add.
// Cost   As cpu.serial. Work n, depth n/p.
// Needs  Any CPU.
// Limit  The loop again, on each core: one row per step. cpu.predicate_first compares 16 keys at a time.
// From   Own; "Exercise Session 12" (C. Balkesen, ETH Zurich 2012) used one thread.
#include <atomic>
#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/tuning/dense.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/filtered_sum/rung.hpp"

namespace upsweep::impl::filtered_sum {

namespace {

constexpr std::int64_t kBlockRows = cpu::tuning::kFilteredSum.block_rows;

/// Bytes of a row, as far as it decides how many threads are worth waking: a key has four, a row that is kept twenty.
constexpr std::int64_t kRowBytes = cpu::tuning::kFilteredSum.row_bytes;

/// Every block by `kernel`, over `threads` threads (0: every core).
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
    sum.fetch_add(partial, std::memory_order_relaxed);  // it is read when the threads are done
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

// cpu.predicate_first: vectors of keys first, then the payload of the rows that are kept; on every core.
//
// Idea   Keys are compared 64 at a time. Rows that are kept are noted down and their payload is prefetched; it is added
//        up a few thousand rows later, when it has arrived: the core never waits for one cache line at a time. Where an
//        eighth of the rows is kept most lines are touched anyway: there both columns are read in order, and products of
//        rows that are not kept are masked out. Which of both it is follows the rows just seen.
// Cost   One pass: the keys and the touched lines of the payload, or all of it. Work n/16 + rows kept, depth n/(16·p).
// Needs  AVX-512, AVX2 or baseline.
// Limit  The read bandwidth of the machine. Keys of fewer bits are the only way on.
// From   Selection vectors of vectorised query execution (Boncz, Zukowski, Nes: MonetDB/X100, CIDR 2005).
extern const Rung cpu_predicate_first{.info = {.id = "cpu.predicate_first",
                                               .idea = "vectors of keys, then the payload that is kept",
                                               .needs = "AVX2, AVX-512 or baseline",
                                               .traffic = kTouched,
                                               .cost = "n/w + k, n/(w·p)",
                                               .limit = "the memory"},
                                      .refusal = needs_isa,
                                      .run = run_vectors};

}  // namespace upsweep::impl::filtered_sum
