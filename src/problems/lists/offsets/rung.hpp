// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/rung.hpp: types and constants that the files of the rungs share.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/offsets_call.hpp"

namespace upsweep::impl::offsets {

using Rung = upsweep::Rung<detail::OffsetsCall>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

inline constexpr const char* kNotAdjacent = "stops are not the starts shifted by one";

inline bool is_adjacent(const detail::OffsetsCall& call) {
  const auto* starts = static_cast<const std::byte*>(call.starts);
  return call.n > 0 && call.stops == starts + size_of(call.type);
}

}  // namespace upsweep::impl::offsets
