// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cpu_std_par.cpp: the standard library's parallel scan on oneTBB, a C++ user's first choice.
//
// Idea   std::inclusive_scan and std::exclusive_scan with std::execution::par_unseq.
// Cost   In libstdc++ two passes over a tree of chunks: 2n read, n written, and the read that a plain store costs.
// Needs  Compiled operators with the same 4- or 8-byte type in and out, and overflow that wraps. Floats only with add,
//        because libstdc++ starts chunks of floats from zero, for any operator. Exclusive scans not in place, because
//        libstdc++ would read elements that it has overwritten. It runs on every core, and float sums depend on how the
//        work happened to be split.
// Limit  Memory traffic, and a scalar loop per chunk. cpu.lookahead removes both.
// From   ISO/IEC 14882:2017, [inclusive.scan]; libstdc++'s PSTL.
#include "cpu/std_par.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <execution>
#include <numeric>
#include <type_traits>

#include "problems/dense/scan/rung.hpp"

namespace upsweep::impl::scan {
namespace {

template <class T>
bool is_negative_zero(T x) {
  return x == 0 && std::signbit(x);
}

/// Returns how many of the first sums are -0.0. The library's sums are not, because libstdc++ begins its chunks with
/// 0.0.
template <class T, class Op>
std::int64_t negative_zeros(const detail::ScanCall& call) {
  std::int64_t count = 0;
  if constexpr (std::is_floating_point_v<T> && operator_of<Op, T>() == Operator::add) {
    const T* const in = static_cast<const T*>(call.in);
    const auto& before = *static_cast<const ScanCarry<T>*>(call.carry);
    if (before.any && !is_negative_zero(detail::value_of(before))) return 0;
    while (count < call.n && is_negative_zero(in[count])) ++count;
    if (call.exclusive && count < call.n) ++count;  // sums are one place later; the first one is the initial value
  }
  return count;
}

template <class T, class Op>
void run_std(const detail::ScanCall& call, Op op) {
  const T* in = static_cast<const T*>(call.in);
  T* out = static_cast<T*>(call.out);
  auto& carry = *static_cast<ScanCarry<T>*>(call.carry);
  if (call.n == 0) return;
  const auto policy = std::execution::par_unseq;
  const T last = in[call.n - 1];  // in place, the scan overwrites it
  const std::int64_t zeros = negative_zeros<T, Op>(call);
  if (call.exclusive) {
    std::exclusive_scan(policy, in, in + call.n, out, detail::value_of(carry), op);
  } else if (carry.any) {
    std::inclusive_scan(policy, in, in + call.n, out, op, detail::value_of(carry));
  } else {
    std::inclusive_scan(policy, in, in + call.n, out, op);
  }
  if constexpr (std::is_floating_point_v<T>) std::fill_n(out, zeros, T{-0.0});
  carry = carry_of(call.exclusive ? op(out[call.n - 1], last) : out[call.n - 1]);
}

Status run(const detail::ScanCall& call, const Policy&) noexcept {
  return cpu::run_std_par(call, [&]<class T>(std::type_identity<T>, auto op) { run_std<T>(call, op); });
}

const char* refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  if (const char* reason = cpu::std_par_refusal(call, policy)) return reason;
  if (call.exclusive && call.in == call.out)
    return "cannot scan exclusively in place: it reads what it has overwritten";
  // libstdc++ starts every chunk of floats from T{}, which is neutral only for sums.
  if (is_float(call.out_type) && call.op != Operator::add) return "the library scans floats correctly only with add";
  return nullptr;
}

}  // namespace

extern const Rung cpu_std_par{.info = {.id = "cpu.std_par",
                                       .idea = "std::inclusive_scan(par_unseq) on oneTBB",
                                       .needs = "compiled operator; same type in and out",
                                       .traffic = "2n read, n written",
                                       .cost = "library",
                                       .limit = "a scalar loop, and the extra reads",
                                       .kind = Kind::library,
                                       .threads = Threads::every,
                                       .determinism = Determinism::no},
                              .refusal = refusal,
                              .run = run};

}  // namespace upsweep::impl::scan
