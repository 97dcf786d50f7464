// SPDX-License-Identifier: Apache-2.0
// aggregate/cpu_threads.cpp: the loop on every core: threads take block after block and add up their sums.
//
// Idea   A sum modulo 2^64 is the same in any order, so threads take blocks of 2^15 rows as they come, and add.
// Cost   As cpu.serial. Work n, depth n/p.
// Needs  Any CPU.
// Limit  The loop again, on each core: one row per step. cpu.predicate_first compares 16 keys at a time.
// From   Own; "Exercise Session 12" (C. Balkesen, ETH Zurich 2012) used one thread.
#include "aggregate/blocks.hpp"
#include "aggregate/rung.hpp"

namespace upsweep::aggregate {

namespace {

Status run(detail::AggregateCall& call, const Policy& policy) noexcept {
  return sum_blocks(call, cpu::kernels_plain().select_sum, policy.threads);
}

}  // namespace

extern const Rung cpu_threads{
    .info = {.id = "cpu.threads", .idea = "threads take blocks of rows", .needs = "any CPU", .traffic = kTouched},
    .run = run};

}  // namespace upsweep::aggregate
