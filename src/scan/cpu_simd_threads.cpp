// SPDX-License-Identifier: Apache-2.0
// scan/cpu_simd_threads.cpp: the three phases of cpu.threads on the vectors of cpu.simd.
//
// Idea   Both at once: segments per thread, log-step scans within vectors; the broadcast is vectorised too.
// Cost   Two passes: 2n read, 2n written. Work n·log2 w + n, depth n/(p·w) + n/segment + log2 w.
// Needs  A compiled operator. Checked overflow: not in place, as the broadcast must see the input.
// Limit  Memory traffic: arithmetic has become free, and still every byte moves twice. The source's 6.54x for SIMD
//        and six threads multiplies two speed-ups that compete for the same bandwidth. cpu.chained removes a pass.
// From   "SIMD + Multi-threading" in the list of "Parallel Prefix Scan".
#include "cpu/kernels.hpp"
#include "cpu/segments.hpp"
#include "scan/pieces.hpp"
#include "scan/rung.hpp"

namespace upsweep::scan {

namespace {

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_pieces(call, policy, cpu::kernels(policy.isa), [&](const Pieces& pieces, Pieces::Carry& carry) {
    return cpu::scan_segments(pieces, call.n, policy.threads, carry);
  });
}

const char* refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  const char* reason = cpu::simd_refusal(call, policy);
  return reason != nullptr ? reason : broadcast_refusal(call, policy);
}

}  // namespace

extern const Rung cpu_simd_threads{.info = {.id = "cpu.simd_threads",
                                            .idea = "segments of vectors: both at once",
                                            .needs = "compiled operator; AVX2, AVX-512 or baseline",
                                            .traffic = "2n read, 2n written"},
                                   .refusal = refusal,
                                   .run = run};

}  // namespace upsweep::scan
