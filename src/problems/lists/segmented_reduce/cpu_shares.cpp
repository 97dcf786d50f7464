// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cpu_shares.cpp: every thread gets as much content as the others, and the lists in it, found by search.
//
// Idea   The work up to list i is the bytes of its first element's position and of i bounds and results. A search in the
//        offsets finds the list where each thread's equal share of all of it begins: a cut along the merge path of lists
//        and elements. Lists that are longer than a share are split by blocks.
// Cost   One pass: content and bounds read, results written, and log2 n offsets per thread. Work n, depth n/p.
// Needs  Any CPU, any associative operator; lists one after the other.
// Limit  The mispredicted exit of the loop over each list, on every core. cpu.columns gets rid of it.
// From   D. Merrill, M. Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016.
#include <algorithm>
#include <new>
#include <vector>

#include "core/lists.hpp"
#include "cpu/list_kernels.hpp"
#include "cpu/tuning/lists.hpp"
#include "problems/lists/segmented_reduce/reduce_lists.hpp"
#include "problems/lists/segmented_reduce/rung.hpp"

namespace upsweep::impl::segmented_reduce {

namespace {

/// Bytes of a list beside its elements, about.
constexpr std::int64_t kListBytes = cpu::tuning::kLists.list_bytes;

/// The first list with at least `bytes` of work before it; any list where offsets decrease.
std::int64_t list_at(const detail::SegmentedReduceCall& call, std::int64_t bytes) {
  return visit_bounds(call.lists, [&](auto bounds) {
    const std::int64_t begin = bounds.start(0);
    std::int64_t low = 0;
    std::int64_t high = call.lists.count;
    // [guide: search]
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const std::int64_t elements = std::clamp<std::int64_t>(bounds.start(middle) - begin, 0, call.n);
      if (elements * call.in_size + middle * kListBytes < bytes) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
    // [guide: end]
  });
}

/// Where each worker's lists begin, and where the last one's end.
std::vector<std::int64_t> cuts(const detail::SegmentedReduceCall& call, int workers) {
  std::vector<std::int64_t> begins{0};
  const std::int64_t lists = call.lists.count;
  const std::int64_t share = (call.n * call.in_size + lists * kListBytes) / workers + 1;
  for (int w = 1; w < workers; ++w) begins.push_back(std::max(begins.back(), list_at(call, w * share)));
  begins.push_back(lists);
  return begins;
}

const char* refusal(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  return call.lists.are_adjacent() ? nullptr : "lists by starts and stops have no order to be searched in";
}

Status run(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept try {
  const int workers = call.lists.count == 0 ? 1 : workers_for(call, policy.threads);
  const std::vector<std::int64_t> begins = cuts(call, workers);
  const auto lists = [&](std::int64_t range) -> cpu::Share {
    return {begins[static_cast<std::size_t>(range)], begins[static_cast<std::size_t>(range) + 1]};
  };
  return reduce_lists(call, policy, cpu::list_kernels_plain(), workers, {workers, lists});
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_shares{.info = {.id = "cpu.shares",
                                      .idea = "as much content for every thread, lists found by search",
                                      .needs = "any CPU; lists one after the other",
                                      .traffic = kOnePass,
                                      .cost = "n, n/p",
                                      .limit = "a mispredicted branch per list, an operation's latency per element, "
                                               "and lists of unequal lengths branch, on each core"},
                             .refusal = refusal,
                             .run = run};

}  // namespace upsweep::impl::segmented_reduce
