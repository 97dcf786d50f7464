// SPDX-License-Identifier: Apache-2.0
// core/adjacent_lists.cpp: the errors of calls on adjacent lists.
#include "core/adjacent_lists.hpp"

#include <limits>
#include <string>

#include "upsweep/detail/scan_call.hpp"

namespace upsweep {

void require_adjacent(const Lists& lists, std::string_view what) {
  detail::require_lists(lists, std::numeric_limits<std::int64_t>::max());
  if (lists.count == 0 || (lists.are_adjacent() && !lists.valid.is_given())) return;
  throw Error(Code::invalid_argument, std::string(what) +
                                          " must have offsets or be of one size, and no list may be null: "
                                          "pack_offsets() computes offsets of any lists");
}

void throw_too_many_elements() { throw Error(Code::overflow, "the lists have more elements than int64 counts"); }

}  // namespace upsweep
