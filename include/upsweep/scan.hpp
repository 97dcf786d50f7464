// SPDX-License-Identifier: Apache-2.0
// upsweep/scan.hpp: inclusive and exclusive prefix scans with any associative operator, over any number of threads.
//
// Given x0 … xn-1 and an associative ⊕ (it need not commute),
//   inclusive_scan  writes  out[i] = init ⊕ x0 ⊕ … ⊕ xi      (init is optional)
//   exclusive_scan  writes  out[i] = init ⊕ x0 ⊕ … ⊕ xi-1
//
// Shapes    in and out have n elements each. They are the same memory (in place) or do not overlap.
// Types     the scan computes in the element type of `out`: int32 elements summed into int64 do not overflow at 2^31.
//           The operators of operators.hpp are compiled for the ten types of types.hpp. An input of another type is
//           converted while it is read; conversions from floats to integers are refused. All other operators and types
//           run through templates. Their elements must be trivially copyable, default constructible, at most 112 bytes
//           (on a GPU 32), and aligned to at most 64 bytes. An operator that throws ends the program, as under
//           std::execution::par.
// Floats    the same rung and n give the same bits for any thread count, alignment and instruction set. Sums and
//           products are out of range only where those of a loop are. Exceptions are cpu.threads, cpu.simd_threads,
//           cpu.std_par and GPUs: there, the fold of a block of the array may be out of range where the results of a
//           loop are not. The outputs after that block are then infinite or NaN (for products also 0).
// Integers  wrap (modulo 2^bits). With Overflow::checked, an addition that does not fit throws an error with the index
//           of the first output that does not fit. Products and custom operators cannot be checked: with
//           Overflow::checked they are refused (unsupported).
// GPU       with a gpu::Policy and device memory, calls are put into the policy's stream and do not wait: see gpu.hpp.
//           Custom operators: see scan.cuh. A GPU converts elements only for sums of integers into the 64-bit type of
//           the same signedness. Products, minima and other types are refused (unsupported) unless in and out have one
//           type. For calls with pointers and a length, the initial value may be in device memory, outside `out`: a
//           gpu::ValueAt. Calls with ranges do not accept a ValueAt. An array can thus be scanned chunk by chunk,
//           without a copy to the host: the last output of an inclusive scan is the initial value of the next scan.
//           For an exclusive scan that ends with the total, do an inclusive scan into `out + 1`. The length may also
//           be in device memory, outside `out`: pass gpu::Length(address, most) instead of n. The host then need not
//           read a count that an earlier kernel wrote. Outputs past the length are not written.
// Errors    Error: overflow (out[0…index-1] are right, the rest unspecified), unequal_lengths, invalid_argument,
//           unknown_rung, unsupported (a rung requested by name that cannot run the call), out_of_memory.
// Source    G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <utility>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {

/// The result of a scan.
struct ScanResult {
  std::int64_t count;     ///< elements written; if the length is in device memory, the maximum
  std::string_view rung;  ///< the id of the rung that ran
};

namespace gpu {

/// A number of elements: a value, or the address of a value in device memory that is read when the call's work runs.
/// With an address, calls are launched for `most` elements but do not access elements past the length. A length below
/// 0 counts as 0. A length above `most` counts as `most`. Sums of floats in a scan have the bits of a scan of `most`
/// elements.
struct Length {
  std::int64_t most;
  const std::int64_t* at = nullptr;

  constexpr Length(std::int64_t n) : most(n) {}  // NOLINT(google-explicit-constructor): most lengths are numbers
  /// Throws Error invalid_argument for a null address.
  Length(const std::int64_t* address, std::int64_t most_elements) : most(most_elements), at(address) {
    upsweep::detail::require_array(address, 1, "length");
  }
  /// @cond
  template <std::floating_point T>
  constexpr Length(T /*n*/) : most(0) {  // NOLINT(google-explicit-constructor): as the length that it stands for
    upsweep::detail::refuse_float<T>();
  }
  template <std::floating_point T>
  Length(const std::int64_t* /*address*/, T /*most_elements*/) : most(0) {
    upsweep::detail::refuse_float<T>();
  }
  /// @endcond
};

/// The address of an initial value in device memory that is read when the call's work runs. Calls with pointers accept
/// ValueAt(address) in place of an initial value; calls with ranges do not.
template <class T>
struct ValueAt {
  const T* at;
  explicit constexpr ValueAt(const T* address) : at(address) {}
};

}  // namespace gpu

namespace detail {

template <class In, class Out, class Op>
inline constexpr Operator kCompiledOperator =
    type_of<In>() == Type::custom || type_of<Out>() == Type::custom ? Operator::custom : operator_of<Op, Out>();

template <class In, class Out, class Op>
inline constexpr ScanKernel kCustomKernel = PlainScan<In, Out, Op>::kernel();

/// Whether type To can represent every integer of type From.
template <class To, class From>
inline constexpr bool kHoldsEvery = std::is_signed_v<To> == std::is_signed_v<From>
                                        ? sizeof(To) >= sizeof(From)
                                        : std::is_signed_v<To> && sizeof(To) > sizeof(From);

/// Fills in all fields that the types and the operator determine. A call on a GPU needs no other fields.
template <class In, class Out, class Op>
void describe_elements(ElementsCall& call, const Op& op) {
  static_assert(std::is_trivially_copyable_v<In>, "upsweep moves elements as bytes: they must be trivially copyable");
  static_assert(sizeof(ScanCarry<Out>) <= CarryBytes::kSize, "an element may have at most 112 bytes");
  static_assert(alignof(ScanCarry<Out>) <= CarryBytes::kAlignment, "an element may be aligned to at most 64 bytes");
  constexpr Operator kOp = kCompiledOperator<In, Out, Op>;
  call.in_size = sizeof(In);
  call.out_size = sizeof(Out);
  call.carry_size = sizeof(ScanCarry<Out>);
  call.op = kOp;
  if constexpr (kOp == Operator::custom) {
    call.op_object = std::addressof(op);
  } else {
    static_assert(!std::is_floating_point_v<In> || std::is_floating_point_v<Out>,
                  "float elements are not scanned into integers: convert them first");
    static_assert(!selects(kOp) || std::is_floating_point_v<Out> || kHoldsEvery<Out, In>,
                  "the minimum or maximum may not fit the output type: choose a wider one");
    call.in_type = type_of<In>();
    call.out_type = type_of<Out>();
  }
}

/// Calls describe_elements() and adds the CPU loops of a custom operator. It is not for calls on a GPU, where the
/// operator may be a device-only function.
template <class In, class Out, class Op>
void describe(ElementsCall& call, const Op& op) {
  describe_elements<In, Out>(call, op);
  if constexpr (kCompiledOperator<In, Out, Op> == Operator::custom) {
    call.custom = &kCustomKernel<In, Out, Op>;
  }
}

template <class In, class Out, class Op>
ScanResult scan(const Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op, bool exclusive,
                ScanCarry<Out>& carry) {
  require_array(in, n, "input");
  require_array(out, n, "output");
  if (runs_inline(policy, n) && same_or_apart(in, n * std::int64_t{sizeof(In)}, out, n * std::int64_t{sizeof(Out)})) {
    const auto combine = wrapping<Out>(op);
    PlainScan<In, Out, decltype(wrapping<Out>(op))>::scan(&combine, in, out, n, &carry, {.exclusive = exclusive});
    return {n, kInlineRung};
  }
  ScanCall call;
  describe<In, Out>(call, op);
  call.in = in;
  call.out = out;
  call.n = n;
  call.exclusive = exclusive;
  call.carry = &carry;
  return {n, run_scan(policy, call)};
}

/// The type of a call's length. On a GPU the length may be in device memory.
template <AnyPolicy P>
using LengthOf = std::conditional_t<kIsGpuPolicy<P>, gpu::Length, std::int64_t>;

/// Operators for which the library has compiled kernels.
template <class In, class Out, class Op>
concept RunsCompiled = kCompiledOperator<In, Out, Op> != Operator::custom && !std::is_const_v<Out>;
template <class In, class Out, class Op>
concept RunsCustom = kCompiledOperator<In, Out, Op> == Operator::custom && !std::is_const_v<Out>;

/// A tag argument. Through it, argument-dependent lookup also finds functions that the .cuh headers declare later.
struct OnDevice {};
/// Calls f(op, nullptr): operators of upsweep have compiled kernels. An overload in scan.cuh passes the kernels of a
/// custom operator.
template <class In, class Out, class Op, class F>
auto with_device_scans(OnDevice /*here*/, const Op& op, F f) {
  static_assert(RunsCompiled<In, Out, Op>,
                "custom operators and types are scanned on a GPU by upsweep/scan.cuh, which nvcc compiles");
  return f(op, static_cast<const DeviceScans*>(nullptr));
}

// Functions that use with_device_scans() are static, as the kernels of custom operators are: each file runs its own
// copy.
template <class In, class Out, class Op>
static ScanResult scan(const gpu::Policy& policy, const In* in, gpu::Length n, Out* out, const Op& op, bool exclusive,
                       ScanCarry<Out> carry, const Out* init_at = nullptr) {
  require_array(in, n.most, "input");
  require_array(out, n.most, "output");
  return with_device_scans<In, Out>(OnDevice{}, op, [&](const auto& on_device, const DeviceScans* kernels) {
    ScanCall call;
    describe_elements<In, Out>(call, on_device);
    call.init_at = init_at;
    call.n_at = n.at;
    call.in = in;
    call.out = out;
    call.n = n.most;
    call.exclusive = exclusive;
    call.carry = &carry;
    call.device = kernels;
    return ScanResult{n.most, run_scan(policy, call)};
  });
}

template <class In, class Out, class Op>
static gpu::WorkspaceSize scan_workspace(const gpu::Policy& policy, std::int64_t n, const Op& op) {
  return with_device_scans<In, Out>(OnDevice{}, op, [&](const auto& on_device, const DeviceScans* kernels) {
    ScanCall call;
    describe_elements<In, Out>(call, on_device);
    call.n = n;
    call.device = kernels;
    return scan_workspace(policy, call);
  });
}

/// Two arrays may be followed by an initial value that is a pointer.
template <class... Rest>
inline constexpr ArgumentRules kScanRules{
    .alike = kBeginsWithArrays<Rest...> ? 2 : 3, .has_range = true, .value_at = !kBeginsWithArrays<Rest...>};

/// Either nothing or one operator follows the arrays, where exclusive_scan() expects its initial value.
template <class Out, class... Op>
concept NoInit =
    sizeof...(Op) == 0 || (sizeof...(Op) == 1 && ((kIsOperatorOn<Op, Out> && !std::is_convertible_v<Op, Out>) && ...));

}  // namespace detail

// ----------------------------------------------------------------------------------------------------------- inclusive

/// Computes the inclusive scan of n elements from `in` to `out`.
template <class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!std::is_const_v<Out>)
ScanResult inclusive_scan(const P& policy, const In* in, detail::LengthOf<P> n, Out* out, Op op = {}) {
  auto carry = empty_carry<Out>();
  return detail::scan(policy, in, n, out, op, false, carry);
}

/// Computes the inclusive scan of n elements from `in` to `out`, starting with `init`.
template <class In, class Out, class Op, detail::AnyPolicy P = Policy>
  requires(!std::is_const_v<Out>)
ScanResult inclusive_scan(const P& policy, const In* in, detail::LengthOf<P> n, Out* out,
                          std::type_identity_t<Out> init, Op op) {
  auto carry = carry_of<Out>(init);
  return detail::scan(policy, in, n, out, op, false, carry);
}
/// Computes the inclusive scan of n elements from `in` to `out`, starting with a value in device memory.
template <class In, class Out, class Op>
  requires(!std::is_const_v<Out>)
ScanResult inclusive_scan(const gpu::Policy& policy, const In* in, gpu::Length n, Out* out, gpu::ValueAt<Out> init,
                          Op op) {
  detail::require_array(init.at, 1, "initial value");
  return detail::scan(policy, in, n, out, op, false, carry_of(Out{}), init.at);
}

/// Computes an inclusive scan that continues from `carry`, and updates `carry`. An array can be scanned in chunks, each
/// with the carry of the chunks before it. The outputs are those of one scan of the whole array. Floats have the same
/// bits if chunks end at multiples of 2^18.
template <class In, class Out, class Op>
  requires(!std::is_const_v<Out>)
ScanResult inclusive_scan(const Policy& policy, const In* in, std::int64_t n, Out* out, Op op, ScanCarry<Out>& carry) {
  return detail::scan(policy, in, n, out, op, false, carry);
}

/// Computes the inclusive scan of a range (array, vector, span): `inclusive_scan(par, quantities, running)`.
template <detail::ArrayArgument In, detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
ScanResult inclusive_scan(const P& policy, const In& in, Out&& out, Op op = {}) {
  detail::require_memory_of<P, In, Out>();
  const auto* const from = detail::data_of(in);
  auto* const to = detail::output_of(out);
  detail::require_equal_lengths(detail::length_of(in), detail::length_of(out));
  return upsweep::inclusive_scan(policy, from, detail::length_of(in), to, op);
}

/// Computes the inclusive scan of a range (array, vector, span), starting with `init`.
template <detail::ArrayArgument In, detail::ArrayArgument Out, class Op, detail::AnyPolicy P = Policy>
ScanResult inclusive_scan(const P& policy, const In& in, Out&& out, detail::ElementOf<Out> init, Op op) {
  detail::require_memory_of<P, In, Out>();
  const auto* const from = detail::data_of(in);
  auto* const to = detail::output_of(out);
  detail::require_equal_lengths(detail::length_of(in), detail::length_of(out));
  return upsweep::inclusive_scan(policy, from, detail::length_of(in), to, init, op);
}

// ----------------------------------------------------------------------------------------------------------- exclusive

/// Computes the exclusive scan of n elements from `in` to `out`, starting with `init`.
template <class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!std::is_const_v<Out>)
ScanResult exclusive_scan(const P& policy, const In* in, detail::LengthOf<P> n, Out* out,
                          std::type_identity_t<Out> init, Op op = {}) {
  auto carry = carry_of<Out>(init);
  return detail::scan(policy, in, n, out, op, true, carry);
}
/// Computes the exclusive scan of n elements from `in` to `out`, starting with a value in device memory.
template <class In, class Out, class Op = Add>
  requires(!std::is_const_v<Out>)
ScanResult exclusive_scan(const gpu::Policy& policy, const In* in, gpu::Length n, Out* out, gpu::ValueAt<Out> init,
                          Op op = {}) {
  detail::require_array(init.at, 1, "initial value");
  return detail::scan(policy, in, n, out, op, true, carry_of(Out{}), init.at);
}

/// Computes an exclusive scan that continues from `carry`, which must contain a value, and updates `carry`.
template <class In, class Out, class Op>
  requires(!std::is_const_v<Out>)
ScanResult exclusive_scan(const Policy& policy, const In* in, std::int64_t n, Out* out, Op op, ScanCarry<Out>& carry) {
  if (!carry.any) throw Error(Code::invalid_argument, "exclusive_scan needs an initial value in its carry");
  return detail::scan(policy, in, n, out, op, true, carry);
}

/// Computes the exclusive scan of a range (array, vector, span), starting with `init`.
template <detail::ArrayArgument In, detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
ScanResult exclusive_scan(const P& policy, const In& in, Out&& out, detail::ElementOf<Out> init, Op op = {}) {
  detail::require_memory_of<P, In, Out>();
  const auto* const from = detail::data_of(in);
  auto* const to = detail::output_of(out);
  detail::require_equal_lengths(detail::length_of(in), detail::length_of(out));
  return upsweep::exclusive_scan(policy, from, detail::length_of(in), to, init, op);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kScanRules<Rest...>, First, Rest...>
auto inclusive_scan(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kScanRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kScanRules<Rest...>, First, Rest...>
auto exclusive_scan(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kScanRules<Rest...>, First, Rest...>();
}
template <detail::AnyPolicy P, detail::InputArray In, detail::InputArray Out, class... Op>
  requires detail::NoInit<detail::ElementOf<Out>, Op...>
auto exclusive_scan(const P& /*policy*/, const In& /*in*/, const Out& /*out*/, const Op&... /*op*/) {
  static_assert(!detail::InputArray<In>,
                "an exclusive scan needs an initial value, its first output, before the operator: "
                "exclusive_scan(policy, in, out, init, op)");
}
template <detail::AnyPolicy P, detail::InputArray In, detail::InputArray Out>
auto inclusive_scan(const P& /*policy*/, const In& /*in*/, const Out& /*out*/,
                    detail::SeveralFunctions<detail::ElementOf<Out>> /*op*/) {
  return detail::refuse_several_functions<In>();
}
/// @endcond

namespace gpu {

/// Returns the size of the Workspace that scans of up to n elements of In into Out need under the policy.
template <class In, class Out, class Op = Add>
  requires(!std::is_const_v<Out>)
WorkspaceSize scan_workspace(const Policy& policy, std::int64_t n, Op op = {}) {
  return upsweep::detail::scan_workspace<In, Out>(policy, n, op);
}

}  // namespace gpu
}  // namespace upsweep
