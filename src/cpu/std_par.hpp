// SPDX-License-Identifier: Apache-2.0
// cpu/std_par.hpp: calls of the standard library's parallel algorithms on oneTBB.
#pragma once

#include <new>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/refusals.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::cpu {

/// Limits oneTBB, for the rest of the process, to the threads that the system can create. If the system can create
/// none, oneTBB runs only on the caller's thread. This function must be called before oneTBB is used.
void keep_to_spare_threads();

/// Calls run(std::type_identity<T>{}, op) for the type and operator of a scan or reduction.
template <class Call, class Run>
Status run_std_par(const Call& call, Run run) noexcept try {
  keep_to_spare_threads();
  visit_combined(call.out_type, call.op, [&]<class T>(std::type_identity<T> type, auto op) {
    if constexpr (sizeof(T) >= 4) run(type, op);
  });
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

template <class Call>
const char* std_par_refusal(const Call& call, const Policy& policy) noexcept {
  if (call.op == Operator::custom) return "runs the compiled operators and types only";
  if (call.in_type != call.out_type) return "needs the same type in and out";
  if (call.out_size < 4) return "is compiled for 4- and 8-byte elements only";
  return is_checked(call, policy) ? "cannot check for overflow" : nullptr;
}

}  // namespace upsweep::cpu
