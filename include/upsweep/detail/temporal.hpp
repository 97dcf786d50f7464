// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/temporal.hpp: the kinds of values that count seconds: timestamps, times of day and durations.
#pragma once

#include "upsweep/table.hpp"

namespace upsweep::detail {

/// Returns whether elements count seconds: value = element / 10^scale.
constexpr bool is_temporal(ValueKind kind) {
  return kind == ValueKind::timestamp || kind == ValueKind::time || kind == ValueKind::duration;
}

}  // namespace upsweep::detail
