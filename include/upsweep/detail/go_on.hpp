// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/go_on.hpp: a function that long calls ask regularly, so that the caller can end them.
#pragma once

#include <functional>

namespace upsweep::detail {

/// A call may ask in any of its threads, also in several at once. False ends the call with Error interrupted.
using GoOn = std::function<bool()>;

}  // namespace upsweep::detail
