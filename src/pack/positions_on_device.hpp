// SPDX-License-Identifier: Apache-2.0
// pack/positions_on_device.hpp: what a conversion of positions in lists on a GPU takes and leaves.
#pragma once

#include "upsweep/detail/pack_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::packing {

/// Puts the call, whose arrays are validated, into call.launch's stream.
Status launch_positions(const detail::PositionsCall& call) noexcept;
/// Scratch bytes of any call on so many lists and elements.
std::int64_t positions_scratch(std::int64_t lists, std::int64_t elements) noexcept;

}  // namespace upsweep::packing
