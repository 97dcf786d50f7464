// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_rung.hpp: the calls that the rungs on a GPU support.
#pragma once

#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

/// Returns null if there are GPU kernels for the call, and otherwise the reason why not.
inline const char* device_refusal(const Call& call, const Policy&) noexcept {
  return size_of(call.key_type) < 4 ? "on a GPU keys have 4 or 8 bytes" : nullptr;
}

/// Returns the same for the rungs that exist for teaching.
inline const char* few_types_refusal(const Call& call, const Policy& policy) noexcept {
  if (call.checked) return "cannot check sums for overflow: use cuda.sort";
  if (const char* const reason = device_refusal(call, policy)) return reason;
  return teaching_refusal(call.op, call.in_type, call.out_type);
}

}  // namespace upsweep::impl::group_by
