// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/go_on.hpp: what long calls ask now and then, so that somebody can end them.
#pragma once

#include <functional>

namespace upsweep::detail {

/// Asked in any of a call's threads, in several at once too. False ends the call: Error interrupted.
using GoOn = std::function<bool()>;

}  // namespace upsweep::detail
