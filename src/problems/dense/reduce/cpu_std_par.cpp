// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cpu_std_par.cpp: std::reduce on oneTBB, a C++ user's first choice.
//
// Idea   std::reduce with std::execution::par_unseq.
// Cost   One pass: n read.
// Needs  Compiled operators with the same 4- or 8-byte type in and out; overflow that wraps. It runs on every core,
//        because it takes no thread count, and float sums depend on how the work happened to be split.
// Limit  The read bandwidth of the machine, if the compiler vectorizes the operator.
// From   ISO/IEC 14882:2017, [reduce]; libstdc++'s PSTL.
#include "cpu/std_par.hpp"

#include <execution>
#include <numeric>

#include "problems/dense/reduce/rung.hpp"

namespace upsweep::impl::reduce {
namespace {

Status run(const detail::ReduceCall& call, const Policy&) noexcept {
  return cpu::run_std_par(call, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    const T* in = static_cast<const T*>(call.in);
    auto& carry = *static_cast<ScanCarry<T>*>(call.carry);
    if (call.n == 0) return;
    const T init = carry.any ? detail::value_of(carry) : identity<T>(operator_of<Op, T>());
    carry = carry_of(std::reduce(std::execution::par_unseq, in, in + call.n, init, op));
  });
}

}  // namespace

extern const Rung cpu_std_par{.info = {.id = "cpu.std_par",
                                       .idea = "std::reduce(par_unseq) on oneTBB",
                                       .needs = "compiled operator; same type in and out",
                                       .traffic = "n read",
                                       .cost = "library",
                                       .limit = "the compiler must vectorize it",
                                       .kind = Kind::library,
                                       .threads = Threads::every,
                                       .determinism = Determinism::no},
                              .refusal = cpu::std_par_refusal,
                              .run = run};

}  // namespace upsweep::impl::reduce
