// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/rung.hpp: types and constants that the files of the rungs share.
#pragma once

#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/broadcast_call.hpp"

namespace upsweep::impl::broadcast {

using Call = detail::BroadcastCall;
using Kind = Call::Kind;
/// On the CPU, `capacity` is the number of elements of all lists when a rung runs. A rung finds decreasing offsets
/// while it writes. It then returns stop_before_start without naming the list.
using Rung = upsweep::Rung<const Call>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

inline constexpr const char* kOnePass = "offsets read, an element each written";

}  // namespace upsweep::impl::broadcast
