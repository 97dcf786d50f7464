// SPDX-License-Identifier: Apache-2.0
// reduce/cpu_threads.cpp: threads fold runs of blocks on their own; the block totals are folded in order.
//
// Idea   A reduction needs no broadcast, so threads cost no second pass. Blocks, not threads, decide where the array is
//        cut: the bits of a float sum are the same for any number of threads.
// Cost   One pass: n read. Work n + n/2^16, depth n/p + n/2^16.
// Needs  Any CPU, any associative operator.
// Limit  The loop's latency again, on each thread. cpu.simd_threads removes it.
// From   The first half of "CPU parallelization" in "Parallel Prefix Scan".
#include "reduce/fold.hpp"
#include "reduce/rung.hpp"

namespace upsweep::reduction {

namespace {

Status run(const detail::ReduceCall& call, const Policy& policy) noexcept {
  return fold(call, policy, cpu::kernels_plain(), policy.threads);
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "threads fold blocks, the totals are folded in order",
                                       .needs = "any CPU",
                                       .traffic = "n read",
                                       .float_bound = kPlainBound},
                              .run = run};

}  // namespace upsweep::reduction
