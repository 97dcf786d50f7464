// SPDX-License-Identifier: Apache-2.0
// core/adjacent_lists.hpp: lists that lie one after the other, by their offsets; and what calls on them refuse.
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

/// Those of lists of one size.
struct SizedOffsets {
  std::int64_t size;

  std::int64_t operator()(std::int64_t i) const { return i * size; }
};

/// f(offsets) of adjacent lists.
template <class F>
decltype(auto) visit_offsets(const Lists& lists, F&& f) {
  if (lists.has_size || lists.count == 0) return f(SizedOffsets{lists.size});
  return visit_list_bound(lists.type, [&]<class T>(std::type_identity<T>) {
    return f(GivenOffsets<T>{static_cast<const T*>(lists.starts)});
  });
}

/// Throws for lists that are not one after the other.
void require_adjacent(const Lists& lists, std::string_view what = "lists");

/// Of lists that are good one by one.
[[noreturn]] void throw_too_many_elements();

}  // namespace upsweep
