// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/rung.hpp: what the rungs' files need to declare their rows of the ladder.
#pragma once

#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/partition_call.hpp"

namespace upsweep::impl::partition {

using Call = detail::PartitionCall;
/// Outputs have capacity for all elements when a rung runs.
using Rung = upsweep::Rung<Call>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

}  // namespace upsweep::impl::partition
