// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cpu_columns.cpp: lists side by side in vector lanes, on every core: at the speed of memory.
//
// Idea   Eight elements of each of 8 or 16 lists are loaded, whatever their lengths, and transposed in registers: a vector of
//        first elements, one of second ones, and so on, which are combined lane by lane; a lane stops where its list ends.
//        No branch depends on a list's length, and the order within a list is the loop's. Lists of more than 32 elements
//        wait until there are enough of about their length; those of more than 4,096 are split into blocks, which are
//        done side by side. Threads take ranges of lists as they come, then blocks of the long ones.
//        Whether something is not zero becomes a bit per element, and a list is a few bits of a word.
// Cost   One pass: content and bounds read, results written. Work n, depth n/p.
// Needs  A compiled operator has vectors: AVX-512, AVX2 or baseline. Others run the plain loop, balanced the same way.
// Limit  The read bandwidth of the machine.
// From   Own. In databases, lists in lanes are known as vertical vectorisation (O. Polychroniou, A. Raghavan, K. Ross:
//        "Rethinking SIMD vectorization for in-memory databases", SIGMOD 2015).
#include <algorithm>

#include "cpu/list_kernels.hpp"
#include "cpu/list_values.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/reduce_lists.hpp"
#include "problems/lists/segmented_reduce/rung.hpp"

namespace upsweep::impl::segmented_reduce {

namespace {

Status run(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept {
  const int workers = workers_for(call, policy.threads);
  const std::int64_t each = cpu::lists_of_work_unit(call.lists.count, call.n * call.in_size, workers);
  const std::int64_t lists = call.lists.count;
  const WorkUnits units{cpu::ceil_div(lists, each), [lists, each](std::int64_t unit) -> cpu::WorkUnit {
                          return {unit * each, std::min(lists, (unit + 1) * each)};
                        }};
  return reduce_lists(call, policy, cpu::list_kernels(policy.isa), workers, units);
}

}  // namespace

extern const Rung cpu_columns{.info = {.id = "cpu.columns",
                                       .idea = "lists side by side in vector lanes, on every core",
                                       .needs = "AVX2, AVX-512 or baseline",
                                       .traffic = kOnePass,
                                       .cost = "n, n/p",
                                       .limit = "the memory"},
                              .refusal = needs_isa,
                              .run = run};

}  // namespace upsweep::impl::segmented_reduce
