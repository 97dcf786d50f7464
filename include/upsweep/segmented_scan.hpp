// SPDX-License-Identifier: Apache-2.0
// upsweep/segmented_scan.hpp: scans each list of a ragged array.
//
//   segmented_inclusive_scan  out[j] = init ⊕ x0 ⊕ … ⊕ xk     for element k of a list, which is content[j],
//   segmented_exclusive_scan  out[j] = init ⊕ x0 ⊕ … ⊕ xk-1   for any associative ⊕ (it need not commute)
//
// Shapes    lists by offsets or of one size: see lists.hpp. Lists by starts and stops may overlap: pack them first.
//           `content` and `out` have n elements each. Outputs of elements that are in no list are not written. Outputs
//           of elements of null lists are not written on a CPU; a GPU may write any of them.
// Types     as in scan.hpp: the scan computes in the element type of `out`.
// Init      is combined as an element is. Without init, an output is the fold of only the elements: the sum of -0.0 is
//           -0.0. The fold of no elements is the operator's identity, for sums 0.
// Nulls     null elements add nothing. Their output is the fold of the preceding elements, in both scans.
// Floats    up to 4,096 elements of a list are scanned one after the other, as a loop does. Longer lists are split
//           every 4,096 elements. A block begins with the folds of the blocks before it, folded in order. The bits
//           do not depend on the threads, the alignment, the instruction set or the other lists. Only the choice of NaN
//           may differ, if an output is NaN.
// Integers  wrap (modulo 2^bits). With Overflow::checked, addition throws `overflow` with the first list that has an
//           output that does not fit. Products and custom operators cannot be checked: with Overflow::checked they are
//           refused (unsupported).
// Errors    Error: those of lists.hpp, with index() the first bad list, unequal_lengths, overflow, invalid_argument,
//           unknown_rung, unsupported, out_of_memory. After an error `out` is unspecified.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, except calls named …_async.
//           Lists must not overlap. Offsets that decrease at a null list could make lists overlap, so they must not
//           decrease. Only compiled operators and types are supported. Floats are added in another order than on the
//           CPU, with the same bits on every run.
// In place  `out` may be the content; otherwise `out` and the content must not overlap.
// Source    J. T. Schwartz, "Ultracomputers", 1980; G. E. Blelloch, "Vector models for data-parallel computing", 1990.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/segmented_scan_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep {

namespace detail {

/// Returns the call of a scan of lists. `op` must outlive the call.
template <class In, class Out, class Op>
SegmentedScanCall segmented_scan_call(const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
                                      const Beginning<Out>& begin, bool exclusive, const Mask& valid) {
  SegmentedScanCall call;
  describe_elements<ElementType<In>, Out>(call, op);
  call.lists = lists;
  call.in = content;
  call.n = n;
  call.out = out;
  set_beginning(call, begin);
  call.exclusive = exclusive;
  call.valid = valid;
  return call;
}

/// Returns the call of a scan of lists on the CPU, with the loops of a custom operator.
template <class In, class Out, class Op>
SegmentedScanCall host_scan_call(const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
                                 const Beginning<Out>& begin, bool exclusive, const Mask& valid) {
  using Element = ElementType<In>;
  SegmentedScanCall call = segmented_scan_call(lists, content, n, out, op, begin, exclusive, valid);
  if constexpr (kCompiledOperator<Element, Out, Op> == Operator::custom) {
    call.custom_scan = &kCustomListScan<Element, Out, Op>;
    call.custom_fold = &kCustomFold<Element, Out, Op>;
  }
  return call;
}

/// Returns the call of a scan of lists on a GPU, which only compiled operators have.
template <class In, class Out, class Op>
SegmentedScanCall device_scan_call(const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
                                   const Beginning<Out>& begin, bool exclusive, const Mask& valid) {
  static_assert(RunsCompiled<ElementType<In>, Out, Op>,
                "lists are scanned on a GPU by the operators of upsweep/operators.hpp, over the types of "
                "upsweep/types.hpp");
  return segmented_scan_call(lists, content, n, out, op, begin, exclusive, valid);
}

template <class In, class Out, class Op>
ListsResult segmented_scan(const Policy& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                           const Op& op, const Beginning<Out>& begin, bool exclusive, const Mask& valid) {
  return {lists.count, run_segmented_scan(policy, host_scan_call(lists, content, n, out, op, begin, exclusive, valid))};
}
template <class In, class Out, class Op>
ListsResult segmented_scan(const gpu::Policy& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                           const Op& op, const Beginning<Out>& begin, bool exclusive, const Mask& valid) {
  const auto call = device_scan_call(lists, content, n, out, op, begin, exclusive, valid);
  return {lists.count, run_segmented_scan(policy, call)};
}

}  // namespace detail

/// Computes the inclusive scan of each list, beginning with `init`. `content` and `out` have n elements.
template <class In, class Out, class Op, detail::AnyPolicy P = Policy>
ListsResult segmented_inclusive_scan(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                                     std::type_identity_t<Out> init, Op op, const Mask& valid = {}) {
  return detail::segmented_scan(policy, lists, content, n, out, op, detail::begin_with(init), false, valid);
}
/// Computes the inclusive scan of each list without an initial value.
template <class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult segmented_inclusive_scan(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                                     Op op = {}, const Mask& valid = {}) {
  return detail::segmented_scan(policy, lists, content, n, out, op, detail::usual_beginning<Out, Op>(), false, valid);
}
/// Computes the inclusive scan of each list of ranges (arrays, vectors, spans):
/// `segmented_inclusive_scan(par, offsets, content, out)`.
template <detail::ArrayArgument Content, detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult segmented_inclusive_scan(const P& policy, const Lists& lists, const Content& content, Out&& out, Op op = {},
                                     const Mask& valid = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  detail::require_equal_lengths(detail::length_of(content), detail::length_of(out));
  return upsweep::segmented_inclusive_scan(policy, lists, from, detail::length_of(content), to, op, valid);
}
/// Computes the inclusive scan of each list of ranges (arrays, vectors, spans), beginning with `init`.
template <detail::ArrayArgument Content, detail::ArrayArgument Out, class Op, detail::AnyPolicy P = Policy>
ListsResult segmented_inclusive_scan(const P& policy, const Lists& lists, const Content& content, Out&& out,
                                     detail::ElementOf<Out> init, Op op, const Mask& valid = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  detail::require_equal_lengths(detail::length_of(content), detail::length_of(out));
  return upsweep::segmented_inclusive_scan(policy, lists, from, detail::length_of(content), to, init, op, valid);
}

/// Computes the exclusive scan of each list, beginning with `init`. `content` and `out` have n elements.
template <class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult segmented_exclusive_scan(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                                     std::type_identity_t<Out> init, Op op = {}, const Mask& valid = {}) {
  return detail::segmented_scan(policy, lists, content, n, out, op, detail::begin_with(init), true, valid);
}
/// Computes the exclusive scan of each list without an initial value.
template <class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!std::is_convertible_v<Op, Out>)
ListsResult segmented_exclusive_scan(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                                     Op op = {}, const Mask& valid = {}) {
  return detail::segmented_scan(policy, lists, content, n, out, op, detail::usual_beginning<Out, Op>(), true, valid);
}
/// Computes the exclusive scan of each list of ranges (arrays, vectors, spans).
template <detail::ArrayArgument Content, detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!std::is_convertible_v<Op, detail::ElementOf<Out>>)
ListsResult segmented_exclusive_scan(const P& policy, const Lists& lists, const Content& content, Out&& out, Op op = {},
                                     const Mask& valid = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  detail::require_equal_lengths(detail::length_of(content), detail::length_of(out));
  return upsweep::segmented_exclusive_scan(policy, lists, from, detail::length_of(content), to, op, valid);
}
/// Computes the exclusive scan of each list of ranges (arrays, vectors, spans), beginning with `init`.
template <detail::ArrayArgument Content, detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult segmented_exclusive_scan(const P& policy, const Lists& lists, const Content& content, Out&& out,
                                     detail::ElementOf<Out> init, Op op = {}, const Mask& valid = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  detail::require_equal_lengths(detail::length_of(content), detail::length_of(out));
  return upsweep::segmented_exclusive_scan(policy, lists, from, detail::length_of(content), to, init, op, valid);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kListsRules, First, Rest...>
auto segmented_inclusive_scan(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kListsRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kListsRules, First, Rest...>
auto segmented_exclusive_scan(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kListsRules, First, Rest...>();
}
/// @endcond

// ----------------------------------------------------------------------------------------------- on a GPU, not waiting

/// Computes the inclusive scan of each list, beginning with `init`, without waiting. `status`, in device memory,
/// contains the outcome once the stream has finished the call. Returns the rung.
template <class In, class Out, class Op>
std::string_view segmented_inclusive_scan_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                                std::int64_t n, Out* out, gpu::ListsStatus* status,
                                                std::type_identity_t<Out> init, Op op, const Mask& valid = {}) {
  detail::require_array(status, 1, "status");
  auto call = detail::device_scan_call(lists, content, n, out, op, detail::begin_with(init), false, valid);
  call.status = status;
  return detail::run_segmented_scan(policy, call);
}
/// Computes the exclusive scan of each list, beginning with `init`, without waiting; `status` is as in
/// segmented_inclusive_scan_async(). Returns the rung.
template <class In, class Out, class Op = Add>
std::string_view segmented_exclusive_scan_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                                std::int64_t n, Out* out, gpu::ListsStatus* status,
                                                std::type_identity_t<Out> init, Op op = {}, const Mask& valid = {}) {
  detail::require_array(status, 1, "status");
  auto call = detail::device_scan_call(lists, content, n, out, op, detail::begin_with(init), true, valid);
  call.status = status;
  return detail::run_segmented_scan(policy, call);
}

namespace gpu {

/// Returns the size of the Workspace that scans of lists of up to n elements of type In into Out need under the policy.
template <class In, class Out, class Op = Add>
WorkspaceSize segmented_scan_workspace(const Policy& policy, std::int64_t n, Op op = {}) {
  const Out init{};
  return upsweep::detail::segmented_scan_workspace(
      policy, upsweep::detail::device_scan_call<In, Out>({}, nullptr, n, nullptr, op, upsweep::detail::begin_with(init),
                                                         false, {}));
}

}  // namespace gpu
}  // namespace upsweep
