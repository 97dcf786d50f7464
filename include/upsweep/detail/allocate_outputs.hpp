// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/allocate_outputs.hpp: outputs that are made when a call knows how long they have to be.
#pragma once

#include <cstdint>
#include <functional>

namespace upsweep::detail {

/// Called once, in the thread of the call, with the number of elements that outputs must hold: gives the call its
/// outputs. The call ends with what it throws.
using AllocateOutputs = std::function<void(std::int64_t elements)>;

}  // namespace upsweep::detail
