// SPDX-License-Identifier: Apache-2.0
// system/memory.hpp: the amount of available memory.
#pragma once

#include <cstdint>

namespace upsweep {

/// Returns the bytes that this process can still write to without swapping. These are free or can be freed by the
/// system, and are at most what its control group allows. A call takes tens of microseconds.
[[nodiscard]] std::int64_t available_memory();

/// Rounds up to whole megabytes, for messages that state a sufficient amount. bytes_text() would round it down.
constexpr std::int64_t whole_megabytes(std::int64_t bytes) { return ((bytes + (1 << 20) - 1) >> 20) << 20; }

}  // namespace upsweep
