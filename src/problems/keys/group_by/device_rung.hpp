// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_rung.hpp: which calls the rungs on a GPU take.
#pragma once

#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

/// Null where there are kernels on a GPU for the call, else the reason why not.
inline const char* device_refusal(const Call& call, const Policy&) noexcept {
  return size_of(call.key_type) < 4 ? "on a GPU keys have 4 or 8 bytes" : nullptr;
}

/// The same of the rungs that are there to be read.
inline const char* few_types_refusal(const Call& call, const Policy& policy) noexcept {
  if (call.checked) return "its sums wrap around: cuda.sort checks them";
  if (const char* const reason = device_refusal(call, policy)) return reason;
  return teaching_refusal(call.op, call.in_type, call.out_type);
}

}  // namespace upsweep::impl::group_by
