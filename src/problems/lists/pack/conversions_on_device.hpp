// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/conversions_on_device.hpp: what a conversion on a GPU takes and leaves.
#pragma once

#include "upsweep/detail/pack_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::pack {

/// Puts the call, whose arrays are validated, into call.launch's stream.
Status launch_conversion(const detail::ConversionCall& call) noexcept;
/// Scratch bytes of any call on so many lists and elements.
std::int64_t conversion_scratch(std::int64_t lists, std::int64_t elements) noexcept;

}  // namespace upsweep::impl::pack
