// SPDX-License-Identifier: Apache-2.0
// core/checked.hpp: Overflow::checked is refused where nothing would be checked.
#pragma once

#include <string>

#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// Throws unsupported where `overflow` asks for checks of a product of integers or of a custom operator. Sums of integers are
/// checked, operators that select or combine bits cannot overflow, and floats become infinite.
template <class Call>
void require_checks(const Call& call, Overflow overflow) {
  if (overflow != Overflow::checked) return;
  if constexpr (requires { call.reducer; }) {
    if (call.reducer != decltype(call.reducer){}) return;  // no fold: counts and positions fit
  }
  const bool multiplies = call.op == Operator::mul && is_integer(call.out_type);
  if (!multiplies && call.op != Operator::custom) return;
  throw Error(Code::unsupported, (multiplies ? "products of integers" : "results of a custom operator") +
                                     std::string(" are not checked for overflow: choose Overflow::wrap"));
}

}  // namespace upsweep
