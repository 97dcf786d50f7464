// SPDX-License-Identifier: Apache-2.0
// core/begin_scan.hpp: what an exclusive scan begins with that has no initial value.
#pragma once

#include <type_traits>

#include "core/visit.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/operators.hpp"

namespace upsweep {

/// Of an exclusive scan that nothing precedes, the carry becomes the operator's identity: every rung then has a first output. Returns
/// whether that output is to become 0 once the scan is done: sums of floats begin with -0.0, which changes no bit, but a sum of
/// none is 0.0. Scans by custom operators have an initial value.
inline bool begin_scan(const detail::ScanCall& call) {
  if (!call.exclusive || call.n == 0 || call.init_at != nullptr || call.op == Operator::custom) return false;
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    auto& carry = *static_cast<ScanCarry<T>*>(call.carry);
    if (carry.any) return false;
    carry = carry_of(identity<T>(call.op));
    return std::is_floating_point_v<T> && call.op == Operator::add;
  });
}

}  // namespace upsweep
