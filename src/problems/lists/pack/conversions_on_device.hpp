// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/conversions_on_device.hpp: launches a conversion on a GPU and computes its scratch size.
#pragma once

#include "upsweep/detail/pack_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::pack {

/// Enqueues the call, whose arrays are validated, in call.launch's stream.
Status launch_conversion(const detail::ConversionCall& call) noexcept;
/// Returns the scratch bytes of any call on this number of lists and elements.
std::int64_t conversion_scratch(std::int64_t lists, std::int64_t elements) noexcept;

}  // namespace upsweep::impl::pack
