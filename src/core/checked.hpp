// SPDX-License-Identifier: Apache-2.0
// core/checked.hpp: refuses Overflow::checked for calls that are not checked.
#pragma once

#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// Throws unsupported if `overflow` requests checks of a product of integers or of a custom operator. Sums of integers
/// are checked. Operators that select or combine bits cannot overflow, and floats become infinite.
inline void require_checks(Operator op, Type out, Overflow overflow) {
  if (overflow != Overflow::checked) return;
  if (op == Operator::custom) {
    throw Error(Code::unsupported,
                "sums of types that are not in upsweep/types.hpp, and custom operators, are not checked for overflow: "
                "choose wrap instead of checked");
  }
  if (op == Operator::mul && is_integer(out)) {
    throw Error(Code::unsupported, "mul of integers is not checked for overflow: choose wrap instead of checked");
  }
}

template <class Call>
void require_checks(const Call& call, Overflow overflow) {
  if constexpr (requires { call.reducer; }) {
    if (call.reducer != decltype(call.reducer){}) return;  // not a fold: counts and positions fit
  }
  require_checks(call.op, call.out_type, overflow);
}

}  // namespace upsweep
