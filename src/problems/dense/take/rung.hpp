// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/rung.hpp: what the rungs' files need to declare their rows of the ladder, and shared checks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ladder.hpp"
#include "core/visit.hpp"
#include "upsweep/detail/take_call.hpp"

namespace upsweep::impl::take {

using Call = detail::TakeCall;
/// When a rung runs on an array, its outputs have capacity for all taken elements.
using Rung = upsweep::Rung<Call>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// A rung on the CPU returns this if a list or an index is bad. The first bad one is then searched for, list by list.
inline constexpr Status kBad{.code = Code::index_out_of_range};
/// A rung returns this if outputs have no capacity for the call.taken elements that are taken from good lists.
inline constexpr Status kNoCapacity{.code = Code::unequal_lengths};

/// Returns whether the outputs have capacity for call.taken elements from lists. Outputs that are made once this number
/// is known are made here. A rung calls this before it moves anything, or it is run without columns first.
bool has_capacity(Call& call) noexcept;

inline std::int64_t index_at(const Indices& indices, std::int64_t i) {
  return visit_list_bound(indices.type, [&]<class T>(std::type_identity<T>) {
    return static_cast<std::int64_t>(static_cast<const T*>(indices.data)[i]);
  });
}
/// Returns whether an index is in range of an array of `elements` elements.
constexpr bool is_in(std::int64_t index, std::int64_t elements) { return -elements <= index && index < elements; }

/// Returns whether list i is null.
inline bool is_null(const Lists& lists, std::int64_t i) { return lists.valid.is_given() && !lists.valid[i]; }

}  // namespace upsweep::impl::take
