// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/occupancy.hpp: the variants of cuda.occupancy, and what the runtime reports about each.
#pragma once

#include <vector>

#include "upsweep/climb.hpp"
#include "upsweep/detail/filtered_sum_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::filtered_sum {

/// Returns the variants on the current device, not yet timed; empty if it cannot be queried. Any one may be run.
std::vector<Variant> occupancy_variants();

/// Runs a call with that variant, as cuda.occupancy does with the best one.
Status run_occupancy_variant(detail::FilteredSumCall& call, int variant) noexcept;

}  // namespace upsweep::impl::filtered_sum
