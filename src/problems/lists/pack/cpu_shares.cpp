// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cpu_shares.cpp: equal shares of content and lists, found by search in the offsets; lists by
// memcpy.
//
// Idea   The packed lists' offsets are a merge path of lists and elements. A search finds the list and the element that
//        have a given amount of work before them. Shares begin and end within long lists.
// Cost   As cpu.threads, and a search per share. Work n + elements, depth (n + elements)/p + log n.
// Needs  Any CPU.
// Limit  A call of memcpy and a mispredicted branch for each short list. Permuted lists wait for each cache line.
//        Outputs are read before they are written. cpu.staged has none of these costs.
// From   S. Odeh et al., "Merge Path", 2012; D. Merrill and M. Garland, "Merge-based parallel sparse matrix-vector
//        multiplication", SC 2016.
#include "core/adjacent_lists.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/pack/moves.hpp"

namespace upsweep::impl::pack {

namespace {

bool copy_share(const detail::PackCall& call, const cpu::PathWorkUnit& unit) {
  const std::int64_t first = call.offsets[0];
  for (std::int64_t i = unit.begin.list; i <= std::min(unit.end.list, call.lists.count - 1); ++i) {
    const std::int64_t begins = call.offsets[i] - first;
    const auto [from, to] = cpu::within(unit, i, begins, call.offsets[i + 1] - first);
    copy_columns(call, i, from - begins, to - from, copy_elements);
  }
  return true;
}

Status run(detail::PackCall& call, const Policy& policy) noexcept {
  return lay_out_and_move(call, policy, [&](const detail::PackCall& laid) {
    (void)cpu::for_each_path_work_unit(GivenOffsets<std::int64_t>{laid.offsets}, laid.lists.count, element_bytes(laid),
                                       policy.threads,
                                       [&](const cpu::PathWorkUnit& unit) { return copy_share(laid, unit); });
  });
}

}  // namespace

extern const Rung cpu_shares{
    .info = {.id = "cpu.shares",
             .idea = "equal shares of content found by search, memcpy list after list",
             .needs = "any CPU",
             .traffic = "bounds twice, content; offsets and outputs",
             .cost = "lists + elements, that / p",
             .limit = "a call and a mispredicted branch per short list; outputs are read before they are written"},
    .run = run};

}  // namespace upsweep::impl::pack
