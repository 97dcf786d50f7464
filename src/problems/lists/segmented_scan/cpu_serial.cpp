// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cpu_serial.cpp: a loop over the lists, with an inner loop over the elements of each
// list.
//
// Idea   total = init; for each element of the list: out[j] = total = total ⊕ x[j]. Lists of more than 4,096 elements
//        are split every 4,096. The prefix of a block is the fold of the blocks before it, in order, as on every CPU
//        rung.
// Cost   One pass: content and bounds read, the same number of elements written. Work n, depth n.
// Needs  Any CPU, any associative operator; adjacent lists.
// Limit  The exit of the inner loop is mispredicted once per list. Each element costs the latency of one operation.
//        cpu.columns removes both costs for short lists.
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
