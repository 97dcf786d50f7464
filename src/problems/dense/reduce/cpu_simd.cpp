// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cpu_simd.cpp: one thread, four vector accumulators, joined by a tree at the end of each block.
//
// Idea   Lane j of accumulator u folds the elements whose index is u·w + j modulo 4w: 4w independent chains instead of
//        one. At the end the four accumulators are joined, and then the lanes of the result in log2 w steps.
// Cost   One pass: n read. Work n, depth n/(4w) + 2 + log2 w per block.
// Needs  A compiled operator (this order requires a commutative one, and all of them are). The vector is 64 bytes for
//        every instruction set, so floats have the same bits on each.
// Limit  One core's share of the memory bandwidth. cpu.simd_threads uses all of it.
// From   Several accumulators: R. Bryant, D. O'Hallaron, "Computer Systems: A Programmer's Perspective", section 5.9.
#include "cpu/kernels.hpp"
#include "problems/dense/reduce/fold.hpp"
#include "problems/dense/reduce/rung.hpp"

namespace upsweep::impl::reduce {

namespace {

Status run(const detail::ReduceCall& call, const Policy& policy) noexcept {
  return fold(call, policy, cpu::kernels(policy.isa), 1);
}

Status run_threads(const detail::ReduceCall& call, const Policy& policy) noexcept {
  return fold(call, policy, cpu::kernels(policy.isa), policy.threads);
}

}  // namespace

extern const Rung cpu_simd{.info = {.id = "cpu.simd",
                                    .idea = "four vector accumulators on one thread",
                                    .needs = "compiled operator; AVX2, AVX-512 or baseline",
                                    .traffic = "n read",
                                    .cost = "n, n/(4w)",
                                    .limit = "one core's share of the bandwidth",
                                    .threads = Threads::one,
                                    .float_bound = kSimdBound},
                           .refusal = cpu::simd_refusal,
                           .run = run};

// cpu.simd_threads: the vector folds of cpu.simd on every core: reading at the speed of memory.
//
// Idea   Threads take one block after another and fold it with four vector accumulators. The block totals are folded in
//        order. The bits are those of cpu.simd, for any number of threads.
// Cost   One pass: n read. Work n + n/2^16, depth n/(4·w·p) + n/2^16.
// Needs  A compiled operator.
// Limit  The read bandwidth of the machine. Nothing that reads every element is faster, and no output waits for a
//        carry. So this is the top of the ladder.
// From   The first half of "SIMD + Multi-threading" in the list of "Parallel Prefix Scan".
extern const Rung cpu_simd_threads{.info = {.id = "cpu.simd_threads",
                                            .idea = "vector folds of blocks on every core",
                                            .needs = "compiled operator; AVX2, AVX-512 or baseline",
                                            .traffic = "n read",
                                            .cost = "n, n/(4w·p)",
                                            .limit = "the memory",
                                            .float_bound = kSimdBound},
                                   .refusal = cpu::simd_refusal,
                                   .run = run_threads};

}  // namespace upsweep::impl::reduce
