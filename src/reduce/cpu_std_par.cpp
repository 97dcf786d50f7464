// SPDX-License-Identifier: Apache-2.0
// reduce/cpu_std_par.cpp: the standard library's parallel reduction on oneTBB: what a C++ user would pick instead.
//
// Idea   std::reduce with std::execution::par_unseq.
// Cost   One pass: n read.
// Needs  Compiled operators with the same 4- or 8-byte type in and out; wrap-around overflow. It runs on every core: it
//        takes no thread count, and float sums depend on how the work happened to be split.
// Limit  The read bandwidth of the machine, where the compiler vectorises the operator.
// From   ISO/IEC 14882:2017, [reduce]; libstdc++'s PSTL.
#include "reduce/rung.hpp"

#include <execution>
#include <new>
#include <numeric>

#include "core/visit.hpp"
#include "cpu/parallel.hpp"

namespace upsweep::reduction {
namespace {

template <class T, class Op>
void run_std(const detail::ReduceCall& call, Op op) {
  const T* in = static_cast<const T*>(call.in);
  auto& carry = *static_cast<ScanCarry<T>*>(call.carry);
  if (call.n == 0) return;
  const T init = carry.any ? detail::value_of(carry) : identity<T>(operator_of<Op, T>());
  carry = carry_of(std::reduce(std::execution::par_unseq, in, in + call.n, init, op));
}

Status run(const detail::ReduceCall& call, const Policy&) noexcept try {
  cpu::keep_to_spare_threads();
  visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) >= 4) visit_operator<T>(call.op, [&](auto op) { run_std<T>(call, op); });
  });
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

const char* refusal(const detail::ReduceCall& call, const Policy& policy) noexcept {
  if (call.op == Operator::custom) return "runs the compiled operators and types only";
  if (call.in_type != call.out_type) return "needs the same type in and out";
  if (call.out_size < 4) return "is compiled for 4- and 8-byte elements only";
  if (policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type)) {
    return "cannot check for overflow";
  }
  return nullptr;
}

}  // namespace

extern const Rung cpu_std_par{.info = {.id = "cpu.std_par",
                                       .idea = "std::reduce(par_unseq) on oneTBB",
                                       .needs = "compiled operator; same type in and out",
                                       .traffic = "n read",
                                       .kind = Kind::library,
                                       .determinism = Determinism::no},
                              .refusal = refusal,
                              .run = run};

}  // namespace upsweep::reduction
