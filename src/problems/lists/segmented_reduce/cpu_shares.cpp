// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cpu_shares.cpp: every thread gets an equal share of the content; a search finds its
// lists.
//
// Idea   The work before list i is the bytes of content before its first element, and of i bounds and results. A search
//        in the offsets finds the list at which each thread's equal share of the work begins. This is a position on the
//        merge path of lists and elements (cpu/work_partition.hpp). Lists of more than a block are folded block by
//        block.
// Cost   One pass: content and bounds read, results written, and log2 n offsets per thread. Work n, depth n/p.
// Needs  Any CPU, any associative operator; adjacent lists.
// Limit  The mispredicted exit of the loop over each list, on every core. cpu.columns removes it.
// From   D. Merrill, M. Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016.
#include <algorithm>
#include <new>
#include <vector>

#include "core/adjacent_lists.hpp"
#include "cpu/list_kernels.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/reduce_lists.hpp"
#include "problems/lists/segmented_reduce/rung.hpp"

namespace upsweep::impl::segmented_reduce {

namespace {

/// Returns the first list of each worker, and the end of the last worker's lists. Decreasing offsets give some valid
/// order.
std::vector<std::int64_t> bounds_of_work_units(const detail::SegmentedReduceCall& call, int workers) {
  return visit_offsets(call.lists, [&](const auto& given) {
    const auto offsets = [&](std::int64_t i) { return std::clamp<std::int64_t>(given(i), 0, call.n); };
    std::vector<std::int64_t> begins{0};
    // [guide: search]
    const cpu::ListPath path(offsets, call.lists.count, call.in_size);
    const std::int64_t each = path.work() / workers + 1;
    for (int w = 1; w < workers; ++w) begins.push_back(std::max(begins.back(), path.at(w * each).list));
    begins.push_back(call.lists.count);
    // [guide: end]
    return begins;
  });
}

const char* refusal(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  return call.lists.are_adjacent() ? nullptr : "does not support lists by starts and stops: they have no order";
}

Status run(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept try {
  const int workers = call.lists.count == 0 ? 1 : workers_for(call, policy.threads);
  const std::vector<std::int64_t> begins = bounds_of_work_units(call, workers);
  const auto lists = [&](std::int64_t unit) -> cpu::WorkUnit {
    return {begins[static_cast<std::size_t>(unit)], begins[static_cast<std::size_t>(unit) + 1]};
  };
  return reduce_lists(call, policy, cpu::list_kernels_plain(), workers, {workers, lists});
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_shares{.info = {.id = "cpu.shares",
                                      .idea = "an equal share of content per thread, lists found by search",
                                      .needs = "any CPU; adjacent lists",
                                      .traffic = kOnePass,
                                      .cost = "n, n/p",
                                      .limit = "a mispredicted branch per list, an operation's latency per element, "
                                               "on each core"},
                             .refusal = refusal,
                             .run = run};

}  // namespace upsweep::impl::segmented_reduce
