// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cpu_serial.cpp: one loop checks each list, writes its offset and copies its elements.
//
// Idea   offsets[i+1] = offsets[i] + length; memcpy, once for every column.
// Cost   One pass: bounds and content read, offsets and outputs written. Work and depth n + elements.
// Needs  Any CPU.
// Limit  A call and a mispredicted branch for each short list, on one thread. cpu.threads spreads them over cores;
//        cpu.staged removes them.
// From   Awkward Array's awkward_ListArray_compact_offsets and carry, in one loop.
#include "problems/lists/pack/moves.hpp"

namespace upsweep::impl::pack {

namespace {

Status run(detail::PackCall& call, const Policy&) noexcept {
  std::int64_t at = 0;
  if (!call.offsets_given) call.offsets[0] = 0;
  for (std::int64_t i = 0; i < call.lists.count; ++i) {
    if (const Code code = check_packed(call, i); code != Code::ok) return {code, i};
    const std::int64_t length = visit_lengths(call, [&](const auto& lengths) { return lengths(i); });
    std::int64_t next = 0;
    if (__builtin_add_overflow(at, length, &next)) return {Code::overflow, i};
    const bool fits = next <= call.capacity;  // if not, the remaining lists must still be checked
    for (const PackColumn& column : call.columns) {
      if (fits && length > 0) copy_elements(column, start_of(call, i), at, length);  // an empty list may have any start
    }
    at = next;
    if (!call.offsets_given) call.offsets[i + 1] = at;
  }
  call.total = at;
  return {at <= call.capacity ? Code::ok : Code::unequal_lengths};
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop, memcpy list after list",
                                      .needs = "any CPU",
                                      .traffic = "bounds and content read, offsets and outputs written",
                                      .cost = "lists + elements",
                                      .limit = "a call and a mispredicted branch per short list",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::pack
