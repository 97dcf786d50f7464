// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cpu_serial.cpp: a loop over the lists, with an inner loop over the elements of each
// list.
//
// Idea   total = init; for each element of the list: total = total ⊕ x; out[i] = total. Lists of more than 4,096
//        elements are split every 4,096, and the folds of these blocks are folded in order, as on every CPU rung.
// Cost   One pass: content and bounds read, results written. Work n, depth n.
// Needs  Any CPU, any associative operator.
// Limit  For short lists, the exit of the inner loop, which is mispredicted once per list: 9 ns, the time of adding a
//        dozen elements. For long lists, the latency of one operation per element: 4 cycles for a float addition.
//        cpu.columns removes both.
// From   Awkward Array's awkward_reduce_sum.
#include "cpu/list_kernels.hpp"
#include "problems/lists/segmented_reduce/reduce_lists.hpp"
#include "problems/lists/segmented_reduce/rung.hpp"

namespace upsweep::impl::segmented_reduce {

namespace {

Status run(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept {
  return reduce_lists(call, policy, cpu::list_kernels_plain(), 1, even_work_units(call, 1));
}

Status run_threads(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept {
  const int workers = workers_for(call, policy.threads);
  return reduce_lists(call, policy, cpu::list_kernels_plain(), workers, even_work_units(call, workers));
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

// cpu.threads: every thread gets an equal number of lists.
//
// Idea   Lists are independent of each other, so threads process equal ranges of them.
// Cost   One pass: content and bounds read, results written. Work n, depth that of the range with the most elements.
// Needs  Any CPU, any associative operator.
// Limit  Equal numbers of lists are not equal work. If one range contains the long lists, its thread does most of the
//        work. cpu.shares splits by elements.
// From   The usual OpenMP loop over the events of jagged arrays.
extern const Rung cpu_threads{
    .info = {.id = "cpu.threads",
             .idea = "an equal number of lists for every thread",
             .needs = "any CPU",
             .traffic = kOnePass,
             .cost = "n, the range with most elements",
             .limit = "a mispredicted branch per list, an operation's latency per element; lists of unequal lengths"},
    .run = run_threads};

}  // namespace upsweep::impl::segmented_reduce
