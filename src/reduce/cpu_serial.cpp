// SPDX-License-Identifier: Apache-2.0
// reduce/cpu_serial.cpp: the loop: one running value, combined with element after element.
//
// Idea   total = total ⊕ x[i], in blocks of 2^16 elements whose totals are folded in order, so that every rung of this
//        ladder, and an input in chunks, cut the array at the same places.
// Cost   One pass: n read. Work n - 1, depth n - 1.
// Needs  Any CPU, any associative operator.
// Limit  The latency of one operation per element: 4 cycles for a float addition. For integers the compiler breaks the
//        chain by itself, because it may reorder them; cpu.simd does so for floats, in an order that is stated.
// From   std::accumulate.
#include "reduce/fold.hpp"
#include "reduce/rung.hpp"

namespace upsweep::reduction {

namespace {

Status run(const detail::ReduceCall& call, const Policy& policy) noexcept {
  return fold(call, policy, cpu::kernels_plain(), 1);
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop with one running value",
                                      .needs = "any CPU",
                                      .traffic = "n read",
                                      .float_bound = kPlainBound},
                             .run = run};

}  // namespace upsweep::reduction
