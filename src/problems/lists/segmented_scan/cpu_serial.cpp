// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cpu_serial.cpp: the loop: list after list, element after element.
//
// Idea   total = init; for each element of the list: out[j] = total = total ⊕ x[j]. Lists of more than 4,096 elements
//        are split every 4,096: what precedes a block is the folds of those before it, in order, as on every rung of
//        the CPU.
// Cost   One pass: content and bounds read, as much content written. Work n, depth n.
// Needs  Any CPU, any associative operator; lists one after the other.
// Limit  The exit of the inner loop, which is mispredicted once per list, and the latency of one operation per element.
//        cpu.columns gets rid of both for short lists.
// From   Own.
#include "cpu/list_kernels.hpp"
#include "problems/lists/segmented_scan/rung.hpp"
#include "problems/lists/segmented_scan/scan_lists.hpp"

namespace upsweep::impl::segmented_scan {

namespace {

Status run(const detail::SegmentedScanCall& call, const Policy& policy) noexcept {
  return scan_lists(call, policy, cpu::list_kernels_plain(), 1);
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop, list after list",
                                      .needs = "any CPU",
                                      .traffic = kOnePass,
                                      .cost = "n, n",
                                      .limit = "a mispredicted branch per list, an operation's latency per element",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::segmented_scan
