// SPDX-License-Identifier: Apache-2.0
// aggregate/ladder.hpp: which rung runs a filtered sum.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/aggregate_call.hpp"

namespace upsweep {

/// The rung that the policy names, or the top one that fits the call. Throws unknown_rung, unsupported.
const Rung<detail::AggregateCall>& aggregate_rung(const detail::AggregateCall& call, const Policy& policy);

}  // namespace upsweep
