// SPDX-License-Identifier: Apache-2.0
// segmented/rung.hpp: what the files of the segmented ladder's rungs declare their rows with.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/segmented_call.hpp"

namespace upsweep::segmented {

using Rung = upsweep::Rung<const detail::SegmentedCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

inline constexpr const char* kOnePass = "content and bounds read, results written";

}  // namespace upsweep::segmented
