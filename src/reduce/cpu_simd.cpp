// SPDX-License-Identifier: Apache-2.0
// reduce/cpu_simd.cpp: one thread, four vector accumulators, joined by a tree at the end of each block.
//
// Idea   Lane j of accumulator u takes the elements whose index is u·w + j modulo 4w: 4w independent chains instead of
//        one. At the end the four are joined, and the lanes of the result by log2 w steps.
// Cost   One pass: n read. Work n, depth n/(4w) + 2 + log2 w per block.
// Needs  A compiled operator (all of them commute, which this order needs). The vector is 64 bytes for every
//        instruction set, so floats have the same bits on each.
// Limit  One core's share of the memory bandwidth. cpu.simd_threads takes all of it.
#include "cpu/kernels.hpp"
#include "reduce/fold.hpp"
#include "reduce/rung.hpp"

namespace upsweep::reduction {

namespace {

Status run(const detail::ReduceCall& call, const Policy& policy) noexcept {
  return fold(call, policy, cpu::kernels(policy.isa), 1);
}

}  // namespace

extern const Rung cpu_simd{.info = {.id = "cpu.simd",
                                    .idea = "four vector accumulators on one thread",
                                    .needs = "compiled operator; AVX2, AVX-512 or baseline",
                                    .traffic = "n read",
                                    .float_bound = kSimdBound},
                           .refusal = cpu::simd_refusal,
                           .run = run};

}  // namespace upsweep::reduction
