// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/rung.hpp: what the files of the select ladder's rungs declare their rows with, and what their loops share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/ladder.hpp"
#include "core/lists.hpp"
#include "upsweep/detail/select_call.hpp"

namespace upsweep::impl::select {

using Rung = upsweep::Rung<detail::SelectCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// What a rung answers where more is kept than an output takes.
inline constexpr Status kNoCapacity{.code = Code::unequal_lengths};

/// Whether the outputs have capacity for call.kept elements. Outputs that are made when that is known are made here: a
/// rung asks before it moves anything, or it is run without columns first.
bool has_capacity(detail::SelectCall& call) noexcept;

/// What the loops go over: lists, or the elements of the content where there are none.
inline std::int64_t list_or_element_count(const detail::SelectCall& call) {
  return call.has_lists ? call.lists.count : call.mask.length;
}

/// Whether list i is null.
inline bool is_null(const Lists& lists, std::int64_t i) { return lists.valid.is_given() && !lists.valid[i]; }

/// Calls f(start, stop) for what lists (or elements) first … stop - 1 hold of the content, and ends(i) where list i ends: for all elements
/// at once where there are no lists. Stops at a bad list, and says what is wrong with it.
template <class Work, class Ends>
Status for_each_range(const detail::SelectCall& call, std::int64_t first, std::int64_t stop, Work work, Ends ends) {
  if (!call.has_lists) {
    work(first, stop);
    return {};
  }
  return visit_bounds(call.lists, [&](auto bounds) -> Status {
    for (std::int64_t i = first; i < stop; ++i) {
      if (!is_null(call.lists, i)) {
        const Code code = check_list(bounds.start(i), bounds.stop(i), call.mask.length);
        if (code != Code::ok) return {.code = code, .index = i};
        work(bounds.start(i), bounds.stop(i));
      }
      ends(i);
    }
    return {};
  });
}

}  // namespace upsweep::impl::select
