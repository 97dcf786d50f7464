// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/rung.hpp: what the files of the take ladder's rungs declare their rows with, and what these look at.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ladder.hpp"
#include "core/visit.hpp"
#include "upsweep/detail/take_call.hpp"

namespace upsweep::impl::take {

using Call = detail::TakeCall;
/// Of arrays, outputs have capacity for all that is taken when a rung runs.
using Rung = upsweep::Rung<Call>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// What a rung on the CPU answers where a list or an index is bad: which is looked for then, list by list.
inline constexpr Status kBad{.code = Code::index_out_of_range};
/// And where outputs have less capacity than what is taken of good lists, call.taken elements.
inline constexpr Status kNoCapacity{.code = Code::unequal_lengths};

/// Whether the outputs have capacity for call.taken elements, of lists. Outputs that are made when that is known are
/// made here: a rung asks before it moves anything, or it is run without columns first.
bool has_capacity(Call& call) noexcept;

inline std::int64_t index_at(const Indices& indices, std::int64_t i) {
  return visit_list_bound(indices.type, [&]<class T>(std::type_identity<T>) {
    return static_cast<std::int64_t>(static_cast<const T*>(indices.data)[i]);
  });
}
/// Whether an index names one of so many elements.
constexpr bool is_in(std::int64_t index, std::int64_t elements) { return -elements <= index && index < elements; }

/// Whether list i is null.
inline bool is_null(const Lists& lists, std::int64_t i) { return lists.valid.is_given() && !lists.valid[i]; }

}  // namespace upsweep::impl::take
