// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cpu_serial.cpp: a loop over the rows that reads the payload only where the row is kept.
//
// Idea   if (key[i] < limit) sum += quantity[i] * price[i].
// Cost   One pass: all keys, and the cache lines of both payload columns that contain a kept row. Work and depth n.
// Needs  Any CPU.
// Limit  One row per step, and a mispredicted branch at each kept row. Where few rows are kept, the core finds the next
//        cache line only after it has processed the previous one. cpu.threads does this on more cores,
//        cpu.predicate_first removes it.
// From   The "reference CPU-only implementation" of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012):
//        5.782 ms on a Core i5 750.
#include "cpu/kernels.hpp"
#include "problems/dense/filtered_sum/rung.hpp"

namespace upsweep::impl::filtered_sum {

namespace {

Status run(detail::FilteredSumCall& call, const Policy&) noexcept {
  const std::uint64_t sum = cpu::kernels_plain().filtered_sum(call.key, call.quantity, call.price, call.n, call.limit);
  *call.out = static_cast<std::int64_t>(sum);
  return {};
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop, row after row",
                                      .needs = "any CPU",
                                      .traffic = kTouched,
                                      .cost = "n, n",
                                      .limit = "a row per step, a mispredicted branch per kept row",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::filtered_sum
