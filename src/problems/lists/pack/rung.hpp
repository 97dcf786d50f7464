// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/rung.hpp: types and functions that the files of the pack ladder's rungs share.
#pragma once

#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/pack_call.hpp"

namespace upsweep::impl::pack {

using Rung = upsweep::Rung<detail::PackCall>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

}  // namespace upsweep::impl::pack
