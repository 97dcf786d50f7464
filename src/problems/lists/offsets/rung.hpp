// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/rung.hpp: what the files of the ragged ladder's rungs declare their rows with.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/ragged_call.hpp"

namespace upsweep::ragged {

using Rung = upsweep::Rung<detail::RaggedCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

inline constexpr const char* kNotAdjacent = "stops are not the starts one place on";

inline bool is_adjacent(const detail::RaggedCall& call) {
  const auto* starts = static_cast<const std::byte*>(call.starts);
  return call.n > 0 && call.stops == starts + size_of(call.type);
}

}  // namespace upsweep::ragged
