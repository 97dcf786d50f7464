// SPDX-License-Identifier: Apache-2.0
// core/adjacent_lists.hpp: adjacent lists by their offsets, and the errors of calls on them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/visit.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep {

/// Offsets in memory.
template <class T>
struct GivenOffsets {
  const T* offsets;

  std::int64_t operator()(std::int64_t i) const { return static_cast<std::int64_t>(offsets[i]); }
};

/// Offsets of lists of one size.
struct SizedOffsets {
  std::int64_t size;

  std::int64_t operator()(std::int64_t i) const { return i * size; }
};

/// Calls f(offsets) with the offsets of adjacent lists.
template <class F>
decltype(auto) visit_offsets(const Lists& lists, F&& f) {
  if (lists.has_size || lists.count == 0) return f(SizedOffsets{lists.size});
  return visit_list_bound(lists.type, [&]<class T>(std::type_identity<T>) {
    return f(GivenOffsets<T>{static_cast<const T*>(lists.starts)});
  });
}

/// Throws invalid_argument for lists that are not adjacent.
void require_adjacent(const Lists& lists, std::string_view what = "lists");

/// Throws overflow for lists that are valid one by one.
[[noreturn]] void throw_too_many_elements();

}  // namespace upsweep
