// SPDX-License-Identifier: Apache-2.0
// ragged/ladder.hpp: which rung runs ragged offsets.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/ragged_call.hpp"

namespace upsweep {

/// The rung that the policy names, or the top one that fits the call. Throws unknown_rung, unsupported.
const Rung<detail::RaggedCall>& ragged_rung(const detail::RaggedCall& call, const Policy& policy);

}  // namespace upsweep
