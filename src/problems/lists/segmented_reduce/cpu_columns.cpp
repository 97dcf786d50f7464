// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cpu_columns.cpp: one list per SIMD lane, on every core, at memory bandwidth.
//
// Idea   Eight elements of each of 8 or 16 lists are loaded, whatever their lengths. They are transposed in registers
//        into a vector of first elements, one of second elements, and so on. These vectors are combined lane by lane,
//        and a lane stops where its list ends. No branch depends on a list's length, and the order within a list is
//        that of the loop. Lists of more than 32 elements are set aside until there are enough lists of similar length.
//        Lists of more than 4,096 elements are split into blocks, which are processed in separate lanes. Threads take
//        ranges of lists dynamically, then blocks of the long lists. For any, all and count_nonzero, each element
//        becomes a bit, and a list is a few bits of a word.
// Cost   One pass: content and bounds read, results written. Work n, depth n/p.
// Needs  AVX-512, AVX2 or baseline vectors for compiled operators. Other operators run the plain loop, with the same
//        load balancing.
// Limit  The read bandwidth of the machine.
// From   Own. Databases call lists in lanes vertical vectorization (O. Polychroniou, A. Raghavan, K. Ross: "Rethinking
//        SIMD vectorization for in-memory databases", SIGMOD 2015).
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
                                       .idea = "one list per SIMD lane, on every core",
                                       .needs = "AVX2, AVX-512 or baseline",
                                       .traffic = kOnePass,
                                       .cost = "n, n/p",
                                       .limit = "memory bandwidth"},
                              .refusal = needs_isa,
                              .run = run};

}  // namespace upsweep::impl::segmented_reduce
