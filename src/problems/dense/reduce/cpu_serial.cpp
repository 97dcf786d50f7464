// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cpu_serial.cpp: the loop: one running value, combined with one element after another.
//
// Idea   total = total ⊕ x[i], in blocks of 2^16 elements whose totals are folded in order. So every rung of this
//        ladder, and an input in chunks, split the array at the same places.
// Cost   One pass: n read. Work n - 1, depth n - 1.
// Needs  Any CPU, any associative operator.
// Limit  The latency of one operation per element: 4 cycles for a float addition. For integers the compiler breaks the
//        chain, because it may reorder them. cpu.simd breaks it for floats, in an order that is documented.
// From   std::accumulate.
#include "problems/dense/reduce/fold.hpp"
#include "problems/dense/reduce/rung.hpp"

namespace upsweep::impl::reduce {

namespace {

Status run(const detail::ReduceCall& call, const Policy& policy) noexcept {
  return fold(call, policy, cpu::kernels_plain(), 1);
}

Status run_threads(const detail::ReduceCall& call, const Policy& policy) noexcept {
  return fold(call, policy, cpu::kernels_plain(), policy.threads);
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop with one running value",
                                      .needs = "any CPU",
                                      .traffic = "n read",
                                      .cost = "n, n",
                                      .limit = "one operation at a time, at its latency",
                                      .threads = Threads::one,
                                      .float_bound = kPlainBound},
                             .run = run};

// cpu.threads: threads fold one block after another; the block totals are folded in order.
//
// Idea   A reduction needs no broadcast, so threads cost no second pass. The array is split by blocks, not by threads,
//        so the bits of a float sum are the same for any number of threads. A thread that has finished takes the next
//        block, so a slow core delays no other.
// Cost   One pass: n read. Work n + n/2^16, depth n/p + n/2^16.
// Needs  Any CPU, any associative operator.
// Limit  The loop's latency again, on each thread. cpu.simd_threads removes it.
// From   The first half of "CPU parallelization" in "Parallel Prefix Scan".
extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "threads fold blocks, the totals are folded in order",
                                       .needs = "any CPU",
                                       .traffic = "n read",
                                       .cost = "n, n/p",
                                       .limit = "the latency of an operation, on each thread",
                                       .float_bound = kPlainBound},
                              .run = run_threads};

}  // namespace upsweep::impl::reduce
