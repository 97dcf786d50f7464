// SPDX-License-Identifier: Apache-2.0
// cpu/refusals.hpp: checks of rungs of scans and reductions before they accept a call.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::cpu {

/// Whether the call is a sum of integers that must be checked for overflow.
template <class Call>
bool is_checked(const Call& call, const Policy& policy) noexcept {
  return policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.in_type) &&
         is_integer(call.out_type);
}

template <class Call>
const char* simd_refusal(const Call& call, const Policy& policy) noexcept {
  if (call.op == Operator::custom) return "a custom operator or type has no vector form";
  return isa_refusal(policy.isa);
}

}  // namespace upsweep::cpu
