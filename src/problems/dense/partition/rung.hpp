// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/rung.hpp: what the files of the partition ladder's rungs declare their rows with.
#pragma once

#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/partition_call.hpp"

namespace upsweep::impl::partition {

using Call = detail::PartitionCall;
/// Outputs have capacity for all elements when a rung runs.
using Rung = upsweep::Rung<Call>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

}  // namespace upsweep::impl::partition
