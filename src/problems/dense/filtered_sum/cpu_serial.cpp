// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cpu_serial.cpp: the loop: row after row, the payload read where the key is small enough.
//
// Idea   if (key[i] < limit) sum += quantity[i] * price[i].
// Cost   One pass: the keys, and the cache lines of both payload columns that hold a row that is kept. Work and depth n.
// Needs  Any CPU.
// Limit  One row per step, a branch that is mispredicted wherever a row is kept, and, where few are, a core that finds
//        out about the next cache line only when it has got through the last. cpu.threads has more cores do that,
//        cpu.predicate_first gets rid of it.
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
