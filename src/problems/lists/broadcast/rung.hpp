// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/rung.hpp: what the files of the rungs declare their rows with.
#pragma once

#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/broadcast_call.hpp"

namespace upsweep::impl::broadcast {

using Call = detail::BroadcastCall;
using Kind = Call::Kind;
/// On the CPU `capacity` is what all lists have when a rung runs. Offsets that decrease are found on the way: a rung then
/// returns stop_before_start, without the list.
using Rung = upsweep::Rung<const Call>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

inline constexpr const char* kOnePass = "offsets read, an element each written";

}  // namespace upsweep::impl::broadcast
