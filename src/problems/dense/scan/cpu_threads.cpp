// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cpu_threads.cpp: threads scan blocks separately, the totals are scanned, and broadcast back.
//
// Idea   (x0 ⊕ x1) ⊕ (x2 ⊕ x3): because ⊕ is associative, all blocks are scanned at the same time, as if nothing
//        preceded them. Afterwards the total of all preceding blocks is combined into each element. Blocks have a fixed
//        length, and threads take runs of blocks (cpu/block_scans.hpp).
// Cost   Two passes: n read + n written, then n read + n written again: 4n bytes·size instead of 2n. Work 2n
//        operations, depth n/p + n/block + 1 on p threads.
// Needs  Any CPU, any associative operator. Checked overflow: not in place, because the broadcast must see the input.
// Limit  Memory traffic. In the source this version is not faster than the loop, and the source does not explain why
//        ("Not sure what's wrong"). The reason is that the second pass doubles the bytes. Therefore p threads are
//        faster only if they have more than twice the bandwidth of one thread, and two threads of a desktop CPU do not.
//        The source predicts 3/4 of the time on two threads, because it counts additions, which do not limit this
//        loop. With a slow operation (floats, 4 cycles each) threads are still faster. cpu.chained and cpu.lookahead
//        need only one pass.
// From   "CPU parallelization" in "Parallel Prefix Scan".
#include "cpu/block_scans.hpp"
#include "cpu/kernels.hpp"
#include "problems/dense/scan/ranges.hpp"
#include "problems/dense/scan/rung.hpp"

namespace upsweep::impl::scan {

namespace {

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_ranges(call, policy, cpu::kernels_plain(), [&](const ScanRanges& ranges, ScanRanges::Carry& carry) {
    return cpu::scan_in_three_phases(ranges, call.n, policy.threads, carry);
  });
}

Status run_vectors(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_ranges(call, policy, cpu::kernels(policy.isa), [&](const ScanRanges& ranges, ScanRanges::Carry& carry) {
    return cpu::scan_in_three_phases(ranges, call.n, policy.threads, carry);
  });
}

const char* refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  const char* reason = cpu::simd_refusal(call, policy);
  return reason != nullptr ? reason : broadcast_refusal(call, policy);
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "blocks separately, a scan of totals, broadcast back",
                                       .needs = "any CPU",
                                       .traffic = "2n read, 2n written",
                                       .cost = "2n, n/p + n/block",
                                       .limit = "the second pass"},
                              .refusal = broadcast_refusal,
                              .run = run};

// cpu.simd_threads: the three phases of cpu.threads on the vectors of cpu.simd.
//
// Idea   The combination of both: blocks per thread, log-step scans within vectors. The broadcast is also vectorized.
// Cost   Two passes: 2n read, 2n written. Work n·log2 w + n, depth n/(p·w) + n/block + log2 w.
// Needs  A compiled operator. Checked overflow: not in place, because the broadcast must see the input.
// Limit  Memory traffic: arithmetic has become free, and still every byte moves twice. The source's 6.54x for SIMD
//        and six threads multiplies two speed-ups that compete for the same bandwidth. cpu.chained removes a pass.
// From   "SIMD + Multi-threading" in the list of "Parallel Prefix Scan".
extern const Rung cpu_simd_threads{.info = {.id = "cpu.simd_threads",
                                            .idea = "cpu.threads and cpu.simd combined",
                                            .needs = "compiled operator; AVX2, AVX-512 or baseline",
                                            .traffic = "2n read, 2n written",
                                            .cost = "n·log w + n, n/(p·w) + n/block",
                                            .limit = "the second pass"},
                                   .refusal = refusal,
                                   .run = run_vectors};

}  // namespace upsweep::impl::scan
