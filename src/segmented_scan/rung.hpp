// SPDX-License-Identifier: Apache-2.0
// segmented_scan/rung.hpp: what the files of the segmented-scan ladder's rungs declare their rows with.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"

namespace upsweep::segmented_scan {

using Rung = upsweep::Rung<const detail::SegmentedScanCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

inline constexpr const char* kOnePass = "content and bounds read, as much content written";

}  // namespace upsweep::segmented_scan
