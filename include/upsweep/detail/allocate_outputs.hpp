// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/allocate_outputs.hpp: outputs that are allocated during a call, once their length is computed.
#pragma once

#include <cstdint>
#include <functional>

namespace upsweep::detail {

/// Sets the outputs of a call that must hold `elements` elements. Called once, in the thread of the call. The call ends
/// with the exception that this function throws.
using AllocateOutputs = std::function<void(std::int64_t elements)>;

}  // namespace upsweep::detail
