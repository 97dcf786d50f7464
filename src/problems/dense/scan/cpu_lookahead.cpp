// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cpu_lookahead.cpp: one pass over memory in which blocks are folded well before they are scanned.
//
// Idea   As cpu.chained, but no thread waits for a carry. Every block's total is published as soon as it is known. Each
//        thread merges all totals, in order, up to its own block. A thread folds three blocks ahead of those it has
//        scanned, so that totals are ready before they are needed. If a block's thread is late, another thread folds
//        the block itself (cpu/lookahead.hpp).
// Cost   One pass: n read, n written: the traffic of a copy. Work n + n·log2 w, depth n/(p·w) + blocks: a merge each.
// Needs  Any CPU, any associative operator; compiled operators run on SIMD, others on the plain loop.
// Limit  The memory bandwidth of the machine: nothing that reads its input and writes its output is faster. With 2 and
//        4 threads each core's bandwidth is the limit, and the second read of a block, from L2, also uses it. Therefore
//        float64 takes 1.17 and 1.11 of a copy's time with 2 and 4 threads (32 cores of a Xeon).
// From   D. Merrill, M. Garland, NVR-2016-002 (decoupled look-back), reversed as on the GPU (cuda.lookahead): the
//        totals before a block are known before they are needed. Helping: M. Herlihy, "Wait-free synchronization",
//        TOPLAS 1991.
#include "cpu/kernels.hpp"
#include "cpu/lookahead.hpp"
#include "problems/dense/scan/ranges.hpp"
#include "problems/dense/scan/rung.hpp"

namespace upsweep::impl::scan {

namespace {

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_ranges(call, policy, cpu::kernels(policy.isa), [&](const ScanRanges& ranges, ScanRanges::Carry& carry) {
    return cpu::scan_lookahead(ranges, call.n, policy.threads, carry);
  });
}

}  // namespace

// The bound: 2048 vectors of a block one after the other, 4 levels within a vector, and the error of the sub-blocks.
// The error of a sub-block's total is up to 134 (128 additions per accumulator, 2 to join them, 4 within a vector).
// Their totals are added with compensation.
extern const Rung cpu_lookahead{.info = {.id = "cpu.lookahead",
                                         .idea = "one pass: blocks folded early, by the first free thread",
                                         .needs = "any CPU",
                                         .traffic = "n read, n written",
                                         .cost = "n + n·log w, n/(p·w) + blocks",
                                         .limit = "the memory",
                                         .float_bound = {.serial = false, .constant = 1100}},
                                .refusal = needs_isa,
                                .run = run};

}  // namespace upsweep::impl::scan
