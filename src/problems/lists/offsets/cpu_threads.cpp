// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cpu_threads.cpp: threads offset blocks of lists on their own, and the totals are broadcast back.
//
// Idea   As scan's cpu.threads, with the difference and the checks fused into the first phase. A block alone finds
//        bad lists and its own overflow; whether an offset overflows once what precedes it is added shows in the
//        broadcast.
// Cost   Two passes: 2n bounds read and n offsets written, then n read and written again: 40 bytes per list of int64.
//        Work 3n, depth n/p + n/block + 1.
// Needs  Any CPU.
// Limit  Memory traffic: 40 bytes per list where 24 are needed. cpu.lookahead needs those only.
// From   The split into differences and a scan of "scanCUDA" (A. Biswas 2020), on threads.
#include "cpu/block_scans.hpp"
#include "problems/lists/offsets/ranges.hpp"
#include "problems/lists/offsets/rung.hpp"

namespace upsweep::impl::offsets {

namespace {

Status run(detail::OffsetsCall& call, const Policy& policy) noexcept {
  return run_ranges(call, cpu::kernels_plain(), [&](const OffsetsRanges& ranges, OffsetsRanges::Carry& carry) {
    return cpu::scan_in_three_phases(ranges, call.n, policy.threads, carry);
  });
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "blocks alone, a scan of their totals, broadcast back",
                                       .needs = "any CPU",
                                       .traffic = "3n read, 2n written",
                                       .cost = "3n, n/p + n/block",
                                       .limit = "the second pass"},
                              .run = run};

}  // namespace upsweep::impl::offsets
