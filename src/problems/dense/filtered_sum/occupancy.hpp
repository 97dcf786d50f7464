// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/occupancy.hpp: the ways in which cuda.occupancy can be launched, and what the runtime reports about each.
#pragma once

#include <vector>

#include "upsweep/climb.hpp"
#include "upsweep/detail/filtered_sum_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::filtered_sum {

/// On the current device; none where it cannot be asked. Any one may be run; none is timed yet.
std::vector<Variant> occupancy_variants();

/// Runs a call by that variant, as cuda.occupancy does by the best one.
Status run_occupancy_variant(detail::FilteredSumCall& call, int variant) noexcept;

}  // namespace upsweep::impl::filtered_sum
