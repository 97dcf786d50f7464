// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cpu_serial.cpp: the loop: each output is the previous output, combined with the next element.
//
// Idea   out[i] = out[i-1] ⊕ in[i]. The first program anyone writes, and the reference for all others.
// Cost   One pass: n elements read, n written. Work n - 1 operations, depth n - 1: each waits for the previous one.
// Needs  Any CPU, any associative operator (the only rung that would not need associativity).
// Limit  The loop-carried dependency: one operation at a time, at its latency. A float addition takes 4 cycles, so the
//        loop runs at 4 cycles per element, however wide the core is. Integers (1 cycle) reach one thread's share of
//        the memory bandwidth. cpu.simd shortens the chain, cpu.threads splits it.
// From   The reference kernel awkward_ListArray_compact_offsets and "Naive CPU implementation" in "Parallel Prefix
//        Scan".
#include <algorithm>

#include "cpu/block_scans.hpp"
#include "cpu/kernels.hpp"
#include "problems/dense/scan/ranges.hpp"
#include "problems/dense/scan/rung.hpp"

namespace upsweep::impl::scan {

namespace {

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_ranges(call, policy, cpu::kernels_plain(), [&](const ScanRanges& ranges, ScanRanges::Carry& carry) {
    return cpu::scan_in_order(ranges, call.n, carry);
  });
}

Status run_vectors(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_ranges(call, policy, cpu::kernels(policy.isa), [&](const ScanRanges& ranges, ScanRanges::Carry& carry) {
    return cpu::scan_in_order(ranges, call.n, carry);
  });
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop: each output is the previous one plus the next element",
                                      .needs = "any CPU",
                                      .traffic = "n read, n written",
                                      .cost = "n, n",
                                      .limit = "one operation at a time, at its latency",
                                      .threads = Threads::one},
                             .run = run};

// cpu.simd: one thread scans whole vectors in log2 steps and adds a running carry.
//
// Idea   A 64-byte vector of w elements is scanned in log2 w shuffle-and-combine steps (cpu/simd.hpp, scan_vector). The
//        carry after it is carry ⊕ last: a vector waits for one operation of the previous vector, not for w of them.
// Cost   One pass: n read, n written, bypassing the caches for large output. Work n·log2 w, depth n/w + log2 w.
// Needs  A compiled operator. The vector is 64 bytes for every instruction set, so floats have the same bits on each.
// Limit  One core's share of the memory bandwidth, which two threads (cpu.lookahead) double on most machines. The
//        source reports that int32 is twice as fast as the loop on AVX2. This speed-up is reached while data stay in
//        cache, or if one core can move more bytes than the loop does.
// From   The list of SIMD versions in "Parallel Prefix Scan"; W. Zhang, Y. Wang, K. A. Ross, "Parallel prefix sum with
//        SIMD", ADMS 2020.
extern const Rung cpu_simd{.info = {.id = "cpu.simd",
                                    .idea = "log-step scans of vectors with a running carry",
                                    .needs = "compiled operator; AVX2, AVX-512 or baseline",
                                    .traffic = "n read, n written",
                                    .cost = "n·log w, n/w",
                                    .limit = "one core's share of the bandwidth",
                                    .threads = Threads::one},
                           .refusal = cpu::simd_refusal,
                           .run = run_vectors};

}  // namespace upsweep::impl::scan
