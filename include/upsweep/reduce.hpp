// SPDX-License-Identifier: Apache-2.0
// upsweep/reduce.hpp: folds an array to one value with any associative operator, over any number of threads.
//
// Types     the reduction computes in the type of `init`. All other rules on types are those of scan.hpp.
// Floats    the same rung and n give the same bits for any thread count, alignment and instruction set. A product
//           overflows or underflows only if the product of all elements does. It is NaN only if an element is NaN, or
//           if the elements include both 0 and infinity. Exceptions are GPUs and cpu.std_par, where partial products
//           may be too large or too small for the type. On every rung except cpu.serial, partial sums may be infinite
//           where those of a loop are not.
// Integers  wrap (modulo 2^bits). With Overflow::checked, an addition throws if the exact sum does not fit the type.
//           The exact sum is kept in 128 bits, so that the order of the elements does not matter. Products and custom
//           operators cannot be checked: with Overflow::checked they are refused (unsupported).
// GPU       with a gpu::Policy and device memory: see gpu.hpp. `reduce()` waits for the stream, because it returns the
//           value. Custom operators: see reduce.cuh. The length of reduce_async() may be in device memory:
//           gpu::Length(address, most), as in scan.hpp. The bits of floats are then the same as if the length were
//           passed as a number.
// Errors    Error: overflow, invalid_argument, unknown_rung, unsupported, out_of_memory.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/result.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

/// The value of a reduction and the rung that ran. It converts to the value, except as an argument of a variadic
/// function: write std::printf("%g", result.value).
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

/// Reduces n elements that follow those of `carry`, and updates `carry`. Chunks can be reduced separately and combined
/// with merge_carries(), or reduced in order with one carry. A checked sum that does not fit is not an error of this
/// call, because later chunks may bring the sum back into range: see ScanCarry::wraps. Returns the rung.
template <class In, class Out, class Op>
std::string_view reduce_into(const Policy& policy, const In* in, std::int64_t n, Op op, ScanCarry<Out>& carry) {
  detail::require_array(in, n, "input");
  if (detail::runs_inline(policy, n)) {
    ScanCarry<Out> own{};
    const auto combine = detail::wrapping<Out>(op);
    detail::PlainScan<In, Out, decltype(detail::wrapping<Out>(op))>::reduce(&combine, in, n, &own);
    detail::merge(op, carry, own);
    if (std::is_integral_v<Out>) carry.wraps = 0;  // only calls that wrap run here
    return detail::kInlineRung;
  }
  detail::ReduceCall call;
  detail::describe<In, Out>(call, op);
  call.in = in;
  call.n = n;
  call.carry = &carry;
  return detail::run_reduce(policy, call);
}

/// Returns left ⊕ right, where the elements of `right` follow those of `left`.
template <class T, class Op>
ScanCarry<T> merge_carries(Op op, ScanCarry<T> left, const ScanCarry<T>& right) {
  detail::merge(op, left, right);
  return left;
}

namespace detail {

/// Computes carry ⊕ x0 ⊕ … ⊕ xn-1.
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

/// Calls f(op, nullptr): operators of upsweep have compiled kernels. An overload in reduce.cuh passes the kernel of a
/// custom operator.
template <class In, class T, class Op, class F>
auto with_device_reduce(OnDevice /*here*/, const Op& op, F f) {
  static_assert(RunsCompiled<In, T, Op>,
                "custom operators and types are reduced on a GPU by upsweep/reduce.cuh, which nvcc compiles");
  return f(op, static_cast<const DeviceKernel<ReduceCall>*>(nullptr));
}

/// Computes carry ⊕ x0 ⊕ … ⊕ xn-1 on a GPU. The carry must contain a value.
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

/// Returns the carry that a sum of n elements begins with. On the CPU the carry is empty. On a GPU it contains a value
/// that changes no bit of the sum.
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

/// One argument is an array; a pointer is followed by its length.
template <class... Rest>
inline constexpr ArgumentRules kReduceRules{.arrays = sizeof...(Rest) == 1 ? 1 : 0, .has_range = true};

}  // namespace detail

/// Returns init ⊕ x0 ⊕ … ⊕ xn-1; init for an empty array.
template <class In, class T, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!detail::kIsValueAt<T>)
Reduction<T> reduce(const P& policy, const In* in, std::int64_t n, T init, Op op = {}) {
  static_assert(!detail::kIsOperatorOn<T, In>,
                "the initial value comes before the operator: reduce(policy, in, init, op)");
  return detail::reduce(policy, in, n, carry_of(init), op);
}

/// Returns init ⊕ x0 ⊕ … over a range (array, vector, span).
template <detail::ArrayArgument In, class T, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!detail::kIsValueAt<T>)
Reduction<T> reduce(const P& policy, const In& in, T init, Op op = {}) {
  detail::require_memory_of<P, In>();
  static_assert(!detail::InputArray<T> || std::is_trivially_copyable_v<T>,
                "a reduction returns its value, and has no output: reduce(policy, in), or reduce(policy, in, init)");
  return upsweep::reduce(policy, detail::data_of(in), detail::length_of(in), init, op);
}

/// Returns the sum of a range in its element type: 0 if it is empty, -0.0 if all elements are -0.0.
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

/// Reduces n elements into *out, which is in device memory, without waiting. Returns the rung.
template <class In, class T, class Op = Add>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out,
                              std::type_identity_t<T> init, Op op = {}) {
  return detail::reduce_async(policy, in, n, out, init, op);
}

/// Reduces n elements into *out without waiting, with an initial value in device memory, which may be *out. Returns
/// the rung.
template <class In, class T, class Op = Add>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out, gpu::ValueAt<T> init,
                              Op op = {}) {
  detail::require_array(init.at, 1, "initial value");
  return detail::reduce_async(policy, in, n, out, T{}, op, init.at);
}

namespace gpu {

/// Returns the size of the Workspace that reductions of up to n elements of In into T need under the policy.
template <class In, class T, class Op = Add>
WorkspaceSize reduce_workspace(const Policy& policy, std::int64_t n, Op op = {}) {
  return upsweep::detail::reduce_workspace<In, T>(policy, n, op);
}

}  // namespace gpu
}  // namespace upsweep
