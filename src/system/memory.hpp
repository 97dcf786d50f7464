// SPDX-License-Identifier: Apache-2.0
// system/memory.hpp: how much memory is available.
#pragma once

#include <cstdint>

namespace upsweep {

/// Bytes that this process can still write to without swapping: what the system has free or can free, and no more than
/// its control group allows. Reading it takes tens of microseconds.
[[nodiscard]] std::int64_t available_memory();

/// No less, in whole megabytes: for messages that say what suffices, which bytes_text() would round down.
constexpr std::int64_t whole_megabytes(std::int64_t bytes) { return ((bytes + (1 << 20) - 1) >> 20) << 20; }

}  // namespace upsweep
