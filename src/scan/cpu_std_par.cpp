// SPDX-License-Identifier: Apache-2.0
// scan/cpu_std_par.cpp: the standard library's parallel scan on oneTBB: what a C++ user would pick instead.
//
// Idea   std::inclusive_scan and std::exclusive_scan with std::execution::par_unseq.
// Cost   In libstdc++ two passes over a tree of chunks: 2n read, n written, and the read that a plain store costs.
// Needs  Compiled operators with the same 4- or 8-byte type in and out, and wrap-around overflow; floats with add only
//        (libstdc++ starts chunks of floats from zero whatever the operator); exclusive not in place (it reads what it
//        has overwritten). It runs on every core, and float sums depend on how the work happened to be split.
// Limit  Memory traffic, and a scalar loop per chunk. cpu.chained removes both.
// From   ISO/IEC 14882:2017, [inclusive.scan]; libstdc++'s PSTL.
#include <execution>
#include <new>
#include <numeric>

#include "core/visit.hpp"
#include "cpu/parallel.hpp"
#include "scan/rungs.hpp"

namespace upsweep::scan {
namespace {

template <class T, class Op>
void run_std(const detail::ScanCall& call, Op op) {
  const T* in = static_cast<const T*>(call.in);
  T* out = static_cast<T*>(call.out);
  auto& carry = *static_cast<ScanCarry<T>*>(call.carry);
  if (call.n == 0) return;
  const auto policy = std::execution::par_unseq;
  const T last = in[call.n - 1];  // in place, the scan overwrites it
  if (call.exclusive) {
    std::exclusive_scan(policy, in, in + call.n, out, detail::value_of(carry), op);
    carry = carry_of(op(out[call.n - 1], last));
    return;
  }
  if (carry.any) {
    std::inclusive_scan(policy, in, in + call.n, out, op, detail::value_of(carry));
  } else {
    std::inclusive_scan(policy, in, in + call.n, out, op);
  }
  carry = carry_of(out[call.n - 1]);
}

}  // namespace

Status cpu_std_par(const detail::ScanCall& call, const Policy&) noexcept try {
  cpu::keep_to_spare_threads();
  visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) >= 4) visit_operator<T>(call.op, [&](auto op) { run_std<T>(call, op); });
  });
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::scan
