// SPDX-License-Identifier: Apache-2.0
// upsweep/reduce.hpp: folds an array to one value with any associative operator, over any number of threads.
//
// Types     the type of `init` is the one that is computed in; the rest is as in scan.hpp.
// Floats    the same rung and n give the same bits for any thread count, alignment and instruction set. A product overflows
//           or underflows only if that of all elements does, and is NaN only if one of them is or 0 and infinity both are
//           among them. Not so on a GPU and with cpu.std_par, where partial products may be too large or too small for
//           the type; and partial sums may, in every order but that of cpu.serial, be infinite where the loop's are not.
// Integers  wrap around, or, with Overflow::checked and addition, throw when the exact sum (kept in 128 bits, so that
//           the order of the elements does not matter) does not fit the type. Products and operators of one's own have no checks:
//           they are refused with it (unsupported).
// Errors    Error: overflow, invalid_argument, unknown_rung, unsupported, out_of_memory.
#pragma once

#include <cstdint>
#include <iterator>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/result.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

/// The value of a reduction and the rung that ran. Converts to the value, but not where a function takes any arguments:
/// std::printf("%g", result.value).
template <class T>
struct Reduction {
  T value{};
  std::string_view rung;

  constexpr Reduction() = default;
  constexpr Reduction(T answer, std::string_view id) : value(answer), rung(id) {}
  constexpr operator T() const { return value; }  // NOLINT(google-explicit-constructor): it is the answer

 private:
  template <detail::OtherNumber<T> U>
  Reduction(U);  // NOLINT(google-explicit-constructor): never defined, see OtherNumber
};

/// The carry of n elements that follow `carry`, which is advanced. Parts reduced apart are put together with
/// merge_carries(), or in order by handing the carry on. A checked sum that does not fit is no error here, as later
/// parts may bring it back: see ScanCarry::wraps.
template <class In, class Out, class Op>
std::string_view reduce_into(const Policy& policy, const In* in, std::int64_t n, Op op, ScanCarry<Out>& carry) {
  detail::require_array(in, n, "input");
  if (detail::runs_inline(policy, n)) {
    ScanCarry<Out> part{};
    const auto combine = detail::wrapping<Out>(op);
    detail::PlainScan<In, Out, decltype(detail::wrapping<Out>(op))>::reduce(&combine, in, n, &part);
    detail::merge(op, carry, part);
    if (std::is_integral_v<Out>) carry.wraps = 0;  // only calls that wrap around run here
    return detail::kInlineRung;
  }
  detail::ReduceCall call;
  detail::describe<In, Out>(call, op);
  call.in = in;
  call.n = n;
  call.carry = &carry;
  return detail::run_reduce(policy, call);
}

/// left ⊕ right, where right's elements follow left's.
template <class T, class Op>
ScanCarry<T> merge_carries(Op op, ScanCarry<T> left, const ScanCarry<T>& right) {
  detail::merge(op, left, right);
  return left;
}

namespace detail {

/// carry ⊕ x0 ⊕ … ⊕ xn-1.
template <class In, class T, class Op>
Reduction<T> reduce(const Policy& policy, const In* in, std::int64_t n, ScanCarry<T> carry, Op op) {
  const std::string_view rung = reduce_into(policy, in, n, op, carry);
  if (std::is_integral_v<T> && policy.overflow == Overflow::checked && carry.wraps != 0)
    throw_sum_overflow(type_of<T>());
  return {value_of(carry), rung};
}

}  // namespace detail

/// init ⊕ x0 ⊕ … ⊕ xn-1; init for an empty array.
template <class In, class T, class Op = Add>
Reduction<T> reduce(const Policy& policy, const In* in, std::int64_t n, T init, Op op = {}) {
  static_assert(!detail::kIsOperatorOn<T, In>,
                "the initial value comes before the operator: reduce(policy, in, init, op)");
  return detail::reduce(policy, in, n, carry_of(init), op);
}

/// init ⊕ x0 ⊕ … over an array, vector or span.
template <detail::ArrayArgument In, class T, class Op = Add>
Reduction<T> reduce(const Policy& policy, const In& in, T init, Op op = {}) {
  static_assert(!detail::InputArray<T> || std::is_trivially_copyable_v<T>,
                "a reduction returns its value, and has no output: reduce(policy, in), or reduce(policy, in, init)");
  return reduce(policy, detail::data_of(in), detail::length_of(in), init, op);
}

/// The sum, in the element type: of no elements 0, of floats that are all -0.0 that.
template <detail::ArrayArgument In>
Reduction<detail::ElementOf<In>> reduce(const Policy& policy, const In& in) {
  return detail::reduce(policy, detail::data_of(in), detail::length_of(in), empty_carry<detail::ElementOf<In>>(), add);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::RefusedCall<First, std::remove_cvref_t<Rest>...>
auto reduce(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse_call<First, std::remove_cvref_t<Rest>...>();
}
template <class T, class... Rest>
auto reduce(const Policy& /*policy*/, const T* begin, const T* /*end*/, const Rest&... /*rest*/) {
  return detail::data_of(begin);
}
template <detail::InputArray In, class T>
auto reduce(const Policy& /*policy*/, const In& /*in*/, T /*init*/,
            std::type_identity_t<detail::SeveralFunctions<T>> /*op*/) {
  return detail::refuse_several_functions<T>();
}
template <class... Rest>
  requires detail::PointerForArray<(sizeof...(Rest) == 1 ? 1 : 0), 0, Rest...>
auto reduce(const Policy& /*policy*/, Rest&&... /*rest*/) {
  return detail::refuse_pointer<Rest...>();
}
/// @endcond

// ------------------------------------------------------------------------------------------------------------ on a GPU
// The same with a gpu::Policy and device memory: see gpu.hpp. Custom operators: see reduce.cuh. The length of reduce_async() may be
// in device memory too: gpu::Length(address, most), as scan.hpp has it; floats have the bits that this length has by number.

namespace detail {

template <class In, class T, class Op>
ReduceCall reduce_call(const In* in, std::int64_t n, const Op& op, ScanCarry<T>& carry,
                       const DeviceKernel<ReduceCall>* device) {
  require_array(in, n, "input");
  ReduceCall call;
  describe_elements<In, T>(call, op);
  call.in = in;
  call.n = n;
  call.carry = &carry;
  call.device = device;
  return call;
}

template <class In, class T, class Op>
gpu::WorkspaceSize reduce_workspace(const gpu::Policy& policy, std::int64_t n, const Op& op,
                                    const DeviceKernel<ReduceCall>* device = nullptr) {
  ReduceCall call;
  describe_elements<In, T>(call, op);
  call.n = n;
  call.device = device;
  return reduce_workspace(policy, call);
}

template <class In, class T, class Op>
Reduction<T> reduce(const gpu::Policy& policy, const In* in, std::int64_t n, T init, const Op& op,
                    const DeviceKernel<ReduceCall>* device = nullptr) {
  auto carry = carry_of(init);
  const std::string_view rung = run_reduce_and_wait(policy, reduce_call(in, n, op, carry, device));
  return {carry.total, rung};
}

template <class In, class T, class Op>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out, T init, const Op& op,
                              const DeviceKernel<ReduceCall>* device = nullptr, const T* init_at = nullptr) {
  require_array(out, 1, "result");
  auto carry = carry_of(init);
  ReduceCall call = reduce_call(in, n.most, op, carry, device);
  call.init_at = init_at;
  call.n_at = n.at;
  call.out = out;
  return run_reduce(policy, call);
}

}  // namespace detail

/// init ⊕ x0 ⊕ … ⊕ xn-1. Waits for the stream, as the value is returned.
template <class In, class T, class Op = Add>
  requires detail::RunsCompiled<In, T, Op>
Reduction<T> reduce(const gpu::Policy& policy, const In* in, std::int64_t n, T init, Op op = {}) {
  return detail::reduce(policy, in, n, init, op);
}

/// The same into *out, in device memory, without waiting. Returns the rung.
template <class In, class T, class Op = Add>
  requires detail::RunsCompiled<In, T, Op>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out,
                              std::type_identity_t<T> init, Op op = {}) {
  return detail::reduce_async(policy, in, n, out, init, op);
}

/// The same with an initial value in device memory, which may be *out.
template <class In, class T, class Op = Add>
  requires detail::RunsCompiled<In, T, Op>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out, gpu::ValueAt<T> init,
                              Op op = {}) {
  detail::require_array(init.at, 1, "initial value");
  return detail::reduce_async(policy, in, n, out, T{}, op, nullptr, init.at);
}

namespace gpu {

/// The device memory that reductions of up to n elements of In into T need under that policy: for a Workspace.
template <class In, class T, class Op = Add>
  requires upsweep::detail::RunsCompiled<In, T, Op>
WorkspaceSize reduce_workspace(const Policy& policy, std::int64_t n, Op op = {}) {
  return upsweep::detail::reduce_workspace<In, T>(policy, n, op);
}

}  // namespace gpu
}  // namespace upsweep
