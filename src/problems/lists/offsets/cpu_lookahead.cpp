// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cpu_lookahead.cpp: differences, validation and scan in one pass, in blocks folded well before they are scanned.
//
// Idea   As scan's cpu.lookahead, over two input arrays; one loop scans a sub-block and folds one of another block. Checks
//        cost no branch: what is wrong with a list sets a sign bit that is looked at once per sub-block; only one that
//        has one is searched for its first bad list.
// Cost   One pass: 24 bytes per list of int64, 16 of int32. Work 3n + n·log2 8, depth n/(8p) + blocks: a merge each.
// Needs  Any CPU.
// Limit  The memory bandwidth of the machine; with 2 and 4 threads that of each core, to which reading a block again,
//        from its second cache, adds: int64 takes 1.18 and 1.23 of a copy's time (32 cores of a Xeon). Where stops are
//        the starts one place on, cpu.adjacent reads them once.
// From   Own: difference and scan in one pass; the schedule is that of problems/dense/scan/cpu_lookahead.cpp.
#include "cpu/kernels.hpp"
#include "cpu/lookahead.hpp"
#include "problems/lists/offsets/ranges.hpp"
#include "problems/lists/offsets/rung.hpp"

namespace upsweep::impl::offsets {

namespace {

Status run(detail::OffsetsCall& call, const Policy& policy) noexcept {
  return run_ranges(call, cpu::kernels(policy.isa), [&](const OffsetsRanges& ranges, OffsetsRanges::Carry& carry) {
    return cpu::scan_lookahead(ranges, call.n, policy.threads, carry);
  });
}

}  // namespace

extern const Rung cpu_lookahead{.info = {.id = "cpu.lookahead",
                                         .idea = "one pass: difference, checks and scan of blocks in cache",
                                         .needs = "any CPU",
                                         .traffic = "2n read, n written",
                                         .cost = "3n + n·log 8, n/(8p) + blocks",
                                         .limit = "the memory"},
                                .refusal = needs_isa,
                                .run = run};

}  // namespace upsweep::impl::offsets
