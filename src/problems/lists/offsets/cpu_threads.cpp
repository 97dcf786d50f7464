// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cpu_threads.cpp: threads compute offsets within blocks of lists; then block totals are
// broadcast.
//
// Idea   Scan's cpu.threads, with the difference and the checks fused into the first phase. A block finds its own bad
//        lists and its own overflow. The broadcast adds the total before a block, and finds the offsets that then
//        overflow.
// Cost   Two passes: 2n bounds read and n offsets written, then n read and written again: 40 bytes per list of int64.
//        Work 3n, depth n/p + n/block + 1.
// Needs  Any CPU.
// Limit  Memory traffic: 40 bytes per list instead of the 24 that cpu.lookahead needs.
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
                                       .idea = "independent blocks, a scan of their totals, broadcast",
                                       .needs = "any CPU",
                                       .traffic = "3n read, 2n written",
                                       .cost = "3n, n/p + n/block",
                                       .limit = "the second pass"},
                              .run = run};

}  // namespace upsweep::impl::offsets
