// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cpu_lookahead.cpp: differences, validation and scan in one pass; blocks are folded well ahead
// of their scan.
//
// Idea   Scan's cpu.lookahead, over two input arrays. One loop scans a sub-block and folds a sub-block of another
//        block. Checks cost no branch. Any error of a list sets a sign bit, which is tested once per sub-block. Only a
//        sub-block with a set bit is searched for its first bad list.
// Cost   One pass: 24 bytes per list of int64, 16 of int32. Work 3n + n·log2 8, depth n/(8p) + blocks: one merge each.
// Needs  Any CPU.
// Limit  The machine's memory bandwidth. With 2 and 4 threads, the limit is each core's bandwidth, and blocks are
//        also read again from L2. So int64 takes 1.18 and 1.23 of a copy's time (32 cores of a Xeon). If stops are
//        the starts shifted by one, cpu.adjacent reads them once.
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
                                         .limit = "memory bandwidth"},
                                .refusal = needs_isa,
                                .run = run};

}  // namespace upsweep::impl::offsets
