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
// GPU       the same with a gpu::Policy and device memory: see gpu.hpp. reduce() waits for the stream, as it returns the value.
//           Custom operators: see reduce.cuh. The length of reduce_async() may be in device memory: gpu::Length(address, most), as
//           in scan.hpp. Floats have the bits that this length has by number.
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

/// The carry of n elements that follow `carry`, which is advanced. Chunks reduced apart are put together with
/// merge_carries(), or in order by handing the carry on. A checked sum that does not fit is no error here, as later
/// chunks may bring it back: see ScanCarry::wraps.
template <class In, class Out, class Op>
std::string_view reduce_into(const Policy& policy, const In* in, std::int64_t n, Op op, ScanCarry<Out>& carry) {
  detail::require_array(in, n, "input");
  if (detail::runs_inline(policy, n)) {
    ScanCarry<Out> own{};
    const auto combine = detail::wrapping<Out>(op);
    detail::PlainScan<In, Out, decltype(detail::wrapping<Out>(op))>::reduce(&combine, in, n, &own);
    detail::merge(op, carry, own);
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
Reduction<T> reduce(const Policy& policy, const In* in, std::int64_t n, ScanCarry<T> carry, const Op& op) {
  const std::string_view rung = reduce_into(policy, in, n, op, carry);
  if (std::is_integral_v<T> && policy.overflow == Overflow::checked && carry.wraps != 0)
    throw_sum_overflow(type_of<T>());
  return {value_of(carry), rung};
}

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

/// f(operator, its kernel), both as the device has them. Those of custom operators are in reduce.cuh.
template <class In, class T, class Op, class F>
auto with_device_reduce(OnDevice /*here*/, const Op& op, F f) {
  static_assert(RunsCompiled<In, T, Op>,
                "custom operators and types are reduced on a GPU by upsweep/reduce.cuh, which nvcc compiles");
  return f(op, static_cast<const DeviceKernel<ReduceCall>*>(nullptr));
}

/// The same on a GPU, whose carry has a value.
template <class In, class T, class Op>
static Reduction<T> reduce(const gpu::Policy& policy, const In* in, std::int64_t n, ScanCarry<T> carry, const Op& op) {
  return with_device_reduce<In, T>(OnDevice{}, op, [&](const auto& on_device, const auto* kernel) {
    const std::string_view rung = run_reduce_and_wait(policy, reduce_call(in, n, on_device, carry, kernel));
    return Reduction<T>{carry.total, rung};
  });
}

template <class In, class T, class Op>
static std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out, T init,
                                     const Op& op, const T* init_at = nullptr) {
  require_array(out, 1, "result");
  return with_device_reduce<In, T>(OnDevice{}, op, [&](const auto& on_device, const auto* kernel) {
    auto carry = carry_of(init);
    ReduceCall call = reduce_call(in, n.most, on_device, carry, kernel);
    call.init_at = init_at;
    call.n_at = n.at;
    call.out = out;
    return run_reduce(policy, call);
  });
}

template <class In, class T, class Op>
static gpu::WorkspaceSize reduce_workspace(const gpu::Policy& policy, std::int64_t n, const Op& op) {
  return with_device_reduce<In, T>(OnDevice{}, op, [&](const auto& on_device, const auto* kernel) {
    ReduceCall call;
    describe_elements<In, T>(call, on_device);
    call.n = n;
    call.device = kernel;
    return reduce_workspace(policy, call);
  });
}

/// The carry that a sum of n elements begins with. It is empty on the CPU. On a GPU it is a value that changes no bit of the sum.
template <AnyPolicy P, class T>
ScanCarry<T> begin_sum(std::int64_t n) {
  if constexpr (kIsGpuPolicy<P> && std::is_floating_point_v<T>) {
    return carry_of(n > 0 ? Add::identity<T>() : T{0});
  } else if constexpr (kIsGpuPolicy<P>) {
    return carry_of(T{0});
  } else {
    return empty_carry<T>();
  }
}

/// One argument is an array; a pointer has its length after it.
template <class... Rest>
inline constexpr ArgumentRules kReduceRules{.arrays = sizeof...(Rest) == 1 ? 1 : 0, .has_range = true};

}  // namespace detail

/// init ⊕ x0 ⊕ … ⊕ xn-1; init for an empty array.
template <class In, class T, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!detail::kIsValueAt<T>)
Reduction<T> reduce(const P& policy, const In* in, std::int64_t n, T init, Op op = {}) {
  static_assert(!detail::kIsOperatorOn<T, In>,
                "the initial value comes before the operator: reduce(policy, in, init, op)");
  return detail::reduce(policy, in, n, carry_of(init), op);
}

/// init ⊕ x0 ⊕ … over an array, vector or span.
template <detail::ArrayArgument In, class T, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!detail::kIsValueAt<T>)
Reduction<T> reduce(const P& policy, const In& in, T init, Op op = {}) {
  detail::require_memory_of<P, In>();
  static_assert(!detail::InputArray<T> || std::is_trivially_copyable_v<T>,
                "a reduction returns its value, and has no output: reduce(policy, in), or reduce(policy, in, init)");
  return upsweep::reduce(policy, detail::data_of(in), detail::length_of(in), init, op);
}

/// The sum, in the element type: of no elements 0, of floats that are all -0.0 that.
template <detail::ArrayArgument In, detail::AnyPolicy P = Policy>
Reduction<detail::ElementOf<In>> reduce(const P& policy, const In& in) {
  detail::require_memory_of<P, In>();
  const std::int64_t n = detail::length_of(in);
  return detail::reduce(policy, detail::data_of(in), n, detail::begin_sum<P, detail::ElementOf<In>>(n), add);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kReduceRules<Rest...>, First, Rest...>
auto reduce(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kReduceRules<Rest...>, First, Rest...>();
}
template <detail::AnyPolicy P, detail::InputArray In, class T>
auto reduce(const P& /*policy*/, const In& /*in*/, T /*init*/,
            std::type_identity_t<detail::SeveralFunctions<T>> /*op*/) {
  return detail::refuse_several_functions<T>();
}
/// @endcond

/// Reduces into *out, in device memory, without waiting. Returns the rung.
template <class In, class T, class Op = Add>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out,
                              std::type_identity_t<T> init, Op op = {}) {
  return detail::reduce_async(policy, in, n, out, init, op);
}

/// The same with an initial value in device memory, which may be *out.
template <class In, class T, class Op = Add>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out, gpu::ValueAt<T> init,
                              Op op = {}) {
  detail::require_array(init.at, 1, "initial value");
  return detail::reduce_async(policy, in, n, out, T{}, op, init.at);
}

namespace gpu {

/// The device memory that reductions of up to n elements of In into T need under that policy: for a Workspace.
template <class In, class T, class Op = Add>
WorkspaceSize reduce_workspace(const Policy& policy, std::int64_t n, Op op = {}) {
  return upsweep::detail::reduce_workspace<In, T>(policy, n, op);
}

}  // namespace gpu
}  // namespace upsweep
