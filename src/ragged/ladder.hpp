// SPDX-License-Identifier: Apache-2.0
// ragged/ladder.hpp: which rung runs ragged offsets.
#pragma once

#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/ragged_call.hpp"

namespace upsweep {

/// The rung that the policy names, or the top one that fits the call. Throws unknown_rung, unsupported.
const Rung<detail::RaggedCall>& ragged_rung(const detail::RaggedCall& call, const Policy& policy);

/// The rungs that such a call on a GPU may come to, wherever its lists lie: the named one, or those that the API chooses
/// from. Throws unknown_rung.
std::vector<const Rung<detail::RaggedCall>*> ragged_rungs(const detail::RaggedCall& call, std::string_view name);

}  // namespace upsweep
