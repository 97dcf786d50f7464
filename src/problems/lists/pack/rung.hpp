// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/rung.hpp: what the files of the pack ladder's rungs declare their rows with.
#pragma once

#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/pack_call.hpp"

namespace upsweep::impl::pack {

using Rung = upsweep::Rung<detail::PackCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

}  // namespace upsweep::impl::pack
