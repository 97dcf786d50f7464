// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/rung.hpp: what the rungs' files need to declare their rows of the ladder, and shared loops.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/ladder.hpp"
#include "core/lists.hpp"
#include "upsweep/detail/select_call.hpp"

namespace upsweep::impl::select {

using Rung = upsweep::Rung<detail::SelectCall>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// A rung returns this if more elements are kept than an output has capacity for.
inline constexpr Status kNoCapacity{.code = Code::unequal_lengths};

/// Returns whether the outputs have capacity for call.kept elements. Outputs that are made once this number is known
/// are made here. A rung calls this before it moves anything, or it is run without columns first.
bool has_capacity(detail::SelectCall& call) noexcept;

/// Returns the number of loop iterations: lists, or the elements of the content if there are no lists.
inline std::int64_t list_or_element_count(const detail::SelectCall& call) {
  return call.has_lists ? call.lists.count : call.mask.length;
}

/// Returns whether list i is null.
inline bool is_null(const Lists& lists, std::int64_t i) { return lists.valid.is_given() && !lists.valid[i]; }

/// Calls f(start, stop) with the content range of each of the lists (or elements) first … stop - 1, and ends(i) at the
/// end of list i. Without lists, f is called once for all elements. Stops at a bad list and returns its error.
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
