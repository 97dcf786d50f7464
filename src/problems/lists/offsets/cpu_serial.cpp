// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cpu_serial.cpp: the reference kernel: one loop that checks a list and adds its length.
//
// Idea   offsets[i+1] = offsets[i] + (stops[i] - starts[i]).
// Cost   One pass: 2n bounds read, n offsets written; 24 bytes per list of int64. Work 2n, depth n.
// Needs  Any CPU.
// Limit  A comparison, a subtraction and a dependent addition per list, and the bandwidth of one thread.
// From   Awkward Array's awkward_ListArray_compact_offsets. "Evaluation task for Awkward Array GSoC project" (P. Das
//        2020) and "scanCUDA" (A. Biswas 2020) port it to CUDA. The error test of the latter fails ("couldn't figure
//        out a good exit strategy"). Every rung here reports the first bad list.
#include "cpu/block_scans.hpp"
#include "problems/lists/offsets/ranges.hpp"
#include "problems/lists/offsets/rung.hpp"

namespace upsweep::impl::offsets {

namespace {

Status run(detail::OffsetsCall& call, const Policy&) noexcept {
  return run_ranges(call, cpu::kernels_plain(), [&](const OffsetsRanges& ranges, OffsetsRanges::Carry& carry) {
    return cpu::scan_in_order(ranges, call.n, carry);
  });
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "the reference kernel: check, subtract, add",
                                      .needs = "any CPU",
                                      .traffic = "2n read, n written",
                                      .cost = "2n, n",
                                      .limit = "one dependent addition per list",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::offsets
