// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cpu_serial.cpp: the naive loop: test the mask of each element, and move those that are kept.
//
// Idea   for each list, for each of its elements: if (mask[j]) out[k++] = content[j].
// Cost   One pass. Work n, depth n.
// Needs  Any CPU.
// Limit  A mispredicted branch per element if the mask is random (about 15 cycles each), and one per list whose length
//        differs from that of the previous list. cpu.branchless has only the latter.
// From   The definition.
#include "cpu/moved_elements.hpp"
#include "problems/dense/select/rung.hpp"

namespace upsweep::impl::select {
namespace {

Status run(detail::SelectCall& call, const Policy&) noexcept {
  std::int64_t kept = 0;
  if (call.out_offsets != nullptr) call.out_offsets[0] = 0;
  const auto keep = [&](std::int64_t start, std::int64_t stop) {
    // [guide: keep]
    for (std::int64_t j = start; j < stop; ++j) {
      if (!call.mask[j]) continue;
      if (kept < call.capacity) {
        for (const SelectColumn& column : call.columns) cpu::move_element(column, j, kept);
      }
      ++kept;
    }
    // [guide: end]
  };
  const auto end_list = [&](std::int64_t list) {
    if (call.out_offsets != nullptr) call.out_offsets[list + 1] = kept;
  };
  const Status status = for_each_range(call, 0, list_or_element_count(call), keep, end_list);
  call.kept = kept;
  return status.ok() && kept > call.capacity ? kNoCapacity : status;
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "if (mask[j]) out[k++] = content[j]",
                                      .needs = "any CPU",
                                      .traffic = "n read, kept written, once",
                                      .cost = "n, n",
                                      .limit = "a mispredicted branch per element and per list",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::select
