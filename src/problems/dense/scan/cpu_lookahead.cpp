// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cpu_lookahead.cpp: one pass over memory in which blocks are folded well before they are scanned.
//
// Idea   As cpu.chained, but no thread waits for a carry that is handed on. Every block's total is published as soon as it
//        is known; each thread merges all of them, in order, up to its own block. It has folded three blocks that it has
//        not scanned, so that totals are there before they are needed, and it folds the block of a thread that does not
//        come to it (cpu/lookahead.hpp).
// Cost   One pass: n read, n written: the traffic of a copy. Work n + n·log2 w, depth n/(p·w) + blocks: a merge each.
// Needs  Any CPU, any associative operator; compiled operators run on SIMD, others on the plain loop.
// Limit  The memory bandwidth of the machine: nothing that reads its input and writes its output is faster. With 2 and 4
//        threads that of each core is the limit, and reading a block again, from its second cache, adds to it: float64
//        takes 1.17 and 1.11 of a copy's time (32 cores of a Xeon).
// From   D. Merrill, M. Garland, NVR-2016-002 (decoupled look-back), turned around as on the GPU (cuda.lookahead): what
//        precedes a block is known before it is looked for. Helping: M. Herlihy, "Wait-free synchronization", TOPLAS 1991.
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

// The bound: 2048 vectors of a block one after the other, 4 levels within a vector, and sub-blocks that are themselves off by
// up to 134 (128 additions per accumulator, 2 to join them, 4 within a vector); their totals add up compensated.
extern const Rung cpu_lookahead{.info = {.id = "cpu.lookahead",
                                         .idea = "one pass: blocks folded early, and by whoever comes first",
                                         .needs = "any CPU",
                                         .traffic = "n read, n written",
                                         .cost = "n + n·log w, n/(p·w) + blocks",
                                         .limit = "the memory",
                                         .float_bound = {.serial = false, .constant = 1100}},
                                .refusal = needs_isa,
                                .run = run};

}  // namespace upsweep::impl::scan
