// SPDX-License-Identifier: Apache-2.0
// core/memory.hpp: how much memory is available.
#pragma once

#include <cstdint>

namespace upsweep {

/// Bytes that this process can still write to without swapping: what the system has free or can free, and no more than
/// its control group allows. Reading it takes tens of microseconds.
[[nodiscard]] std::int64_t available_memory();

}  // namespace upsweep
