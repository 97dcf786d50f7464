// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cpu_threads.cpp: one pass per column without a branch on the mask; on one thread, or on all.
//
// cpu.branchless: stores every element, and overwrites it with the next one unless it is kept.
//
// Idea   out[k] = content[j]; k += mask[j]. Kept elements are counted first, and only elements up to the last kept one
//        are stored, so that nothing is written past the output.
// Cost   The mask twice for counting, then once per column; the content once. Work (2 + columns)·n, depth the same.
// Needs  Any CPU.
// Limit  One element per step of the addition that k waits for, and a mispredicted branch per list. cpu.threads runs
//        this on every core.
// From   K. A. Ross, "Selection Conditions in Main Memory", ACM TODS 29(1), 2004.
#include <new>
#include <vector>

#include "cpu/moved_elements.hpp"
#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/select/rung.hpp"
#include "problems/dense/select/workers.hpp"

namespace upsweep::impl::select {
namespace {

/// A thread's share: its lists or elements, how many elements it keeps, and its first error.
struct ThreadShare {
  cpu::WorkUnit range = {};
  std::int64_t kept = 0;
  Status status = {};
};

void count(const detail::SelectCall& call, ThreadShare& share) {
  const auto add = [&](std::int64_t start, std::int64_t stop) {
    for (std::int64_t j = start; j < stop; ++j) share.kept += call.mask[j] ? 1 : 0;
  };
  share.status = for_each_range(call, share.range.first, share.range.last, add, [](std::int64_t) {});
}

/// Writes one column; `out` is where the share's output begins.
void fill(const detail::SelectCall& call, const ThreadShare& share, const SelectColumn& column, std::int64_t out) {
  const std::int64_t end = out + share.kept;
  std::int64_t k = out;
  const auto move = [&](std::int64_t start, std::int64_t stop) {
    // [guide: branchless]
    for (std::int64_t j = start; j < stop && k < end; ++j) {
      cpu::move_element(column, j, k);
      k += call.mask[j] ? 1 : 0;
    }
    // [guide: end]
  };
  (void)for_each_range(call, share.range.first, share.range.last, move, [](std::int64_t) {});
}

void offset(const detail::SelectCall& call, const ThreadShare& share, std::int64_t out) {
  std::int64_t k = out;
  const auto add = [&](std::int64_t start, std::int64_t stop) {
    for (std::int64_t j = start; j < stop; ++j) k += call.mask[j] ? 1 : 0;
  };
  (void)for_each_range(call, share.range.first, share.range.last, add,
                       [&](std::int64_t list) { call.out_offsets[list + 1] = k; });
}

Status run_on(detail::SelectCall& call, int workers) {
  std::vector<ThreadShare> shares(static_cast<std::size_t>(workers));
  cpu::run_workers(workers, [&](int worker) {
    ThreadShare share{.range = cpu::work_unit_of(list_or_element_count(call), worker, workers)};
    count(call, share);
    shares[static_cast<std::size_t>(worker)] = share;
  });
  std::vector<std::int64_t> before(shares.size());
  for (std::size_t p = 0; p < shares.size(); ++p) {
    if (!shares[p].status.ok()) return shares[p].status;
    before[p] = call.kept;
    call.kept += shares[p].kept;
  }
  if (!has_capacity(call)) return kNoCapacity;
  if (call.out_offsets != nullptr) call.out_offsets[0] = 0;
  cpu::run_workers(workers, [&](int worker) {
    const auto p = static_cast<std::size_t>(worker);
    if (call.out_offsets != nullptr) offset(call, shares[p], before[p]);
    for (const SelectColumn& column : call.columns) fill(call, shares[p], column, before[p]);
  });
  return {};
}

Status run_one(detail::SelectCall& call, const Policy&) noexcept try {
  return run_on(call, 1);
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory};
}

Status run_all(detail::SelectCall& call, const Policy& policy) noexcept try {
  return run_on(call, workers_of(call, policy.threads));
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_branchless{.info = {.id = "cpu.branchless",
                                          .idea = "out[k] = content[j]; k += mask[j]",
                                          .needs = "any CPU",
                                          .traffic = "the mask three times, content once",
                                          .cost = "3n, 3n",
                                          .limit = "an element per step",
                                          .threads = Threads::one},
                                 .run = run_one};

// cpu.threads: cpu.branchless on every core. Each thread counts what its lists keep; the counts give its output's
// place.
//
// Idea   Each thread has an equal number of lists, or of elements if there are no lists. Count, add up, fill.
// Cost   As cpu.branchless. Work (2 + columns)·n. The depth is that / p if lists have similar lengths, and otherwise
//        the work of the longest share.
// Needs  Any CPU.
// Limit  One element per step, and a share of lists that may contain all elements. cpu.compress has neither.
// From   G. E. Blelloch, "Prefix Sums and Their Applications", CMU-CS-90-190: pack.
extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "shares of lists: count, then fill, by threads",
                                       .needs = "any CPU",
                                       .traffic = "the mask three times, content once",
                                       .cost = "3n, 3n/p if lists are alike",
                                       .limit = "shares of lists: one may contain everything"},
                              .run = run_all};

}  // namespace upsweep::impl::select
