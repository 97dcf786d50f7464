// SPDX-License-Identifier: Apache-2.0
// aggregate/occupancy.hpp: the ways in which cuda.occupancy can be launched, and what the runtime reports about each.
#pragma once

#include <cstdint>
#include <vector>

#include "upsweep/detail/aggregate_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::aggregate {

struct OccupancyVariant {
  int threads = 0;                ///< of a block
  bool capped = false;            ///< registers limited so that a multiprocessor's threads all fit
  int registers = 0;              ///< per thread
  std::int64_t shared_bytes = 0;  ///< per block
  int blocks = 0;                 ///< on a multiprocessor at a time
  double occupancy = 0;           ///< warps on a multiprocessor over the most it can hold
};

/// On the current device; none where it cannot be asked. Any one may be run.
std::vector<OccupancyVariant> occupancy_variants();

/// Runs a call by that variant, as cuda.occupancy does by the best one.
Status run_occupancy_variant(detail::AggregateCall& call, int variant) noexcept;

}  // namespace upsweep::aggregate
