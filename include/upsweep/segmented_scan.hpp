// SPDX-License-Identifier: Apache-2.0
// upsweep/segmented_scan.hpp: scans every list of a ragged array by itself.
//
//   segmented_inclusive_scan  out[j] = init ⊕ x0 ⊕ … ⊕ xk     for element k of its list, which is element j of the content,
//   segmented_exclusive_scan  out[j] = init ⊕ x0 ⊕ … ⊕ xk-1   for any associative ⊕ (it need not commute)
//
// Shapes    lists: see lists.hpp, by offsets or of one size (others may overlap: pack them first); `content` and `out` hold n
//           elements each. Outputs of elements that are in no list, or in one that is null, are not written.
// Types     as in scan.hpp: the element type of `out` is the one that is computed in. init is the operator's identity unless
//           another is asked for (of sums 0).
// Nulls     elements that are null add nothing; their output is what precedes them, whatever the scan.
// Floats    up to 4,096 elements of a list are scanned one after the other, as a loop does; longer lists are cut every 4,096
//           elements, and a block begins with the folds of those before it, folded in order. The bits do not depend on the
//           threads, the alignment, the instruction set and the lists around, but for which NaN an output is.
// Integers  wrap around or, with Overflow::checked and addition, throw `overflow` with the first list that has an output that
//           does not fit.
// Errors    Error: those of lists.hpp, with index() the first bad list, unequal_lengths, overflow, invalid_argument,
//           unknown_rung, unsupported, out_of_memory. After an error `out` is unspecified.
// In place  `out` may be the content; otherwise they must not overlap.
// Source    J. T. Schwartz, "Ultracomputers", 1980; G. E. Blelloch, "Vector models for data-parallel computing", 1990.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

#include "upsweep/detail/segmented_scan_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/segmented.hpp"

namespace upsweep {

namespace detail {

template <class In, class Out, class Op>
SegmentedResult segmented_scan(const Policy& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                               const Op& op, const Out& init, bool exclusive, const Mask& valid) {
  using Element = ElementType<In>;
  SegmentedScanCall call;
  describe_elements<Element, Out>(call, op);
  if constexpr (kCompiledOperator<Element, Out, Op> == Operator::custom) {
    static_assert(std::is_invocable_r_v<Out, const Op&, Out, Out>, "the operator must take two elements of `out`");
    call.custom_scan = &kCustomListScan<Element, Out, Op>;
    call.custom_fold = &kCustomFold<Element, Out, Op>;
  }
  call.lists = lists;
  call.in = content;
  call.n = n;
  call.out = out;
  call.init = std::addressof(init);
  call.exclusive = exclusive;
  call.valid = valid;
  return {lists.count, run_segmented_scan(policy, call)};
}

}  // namespace detail

/// Inclusive scans of all lists, each beginning with `init`. `content` and `out` hold n elements.
template <class In, class Out, class Op>
SegmentedResult segmented_inclusive_scan(const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                                         Out* out, Op op, std::type_identity_t<Out> init, const Mask& valid = {}) {
  return detail::segmented_scan(policy, lists, content, n, out, op, init, false, valid);
}
/// The same, beginning with the operator's identity.
template <class In, class Out, class Op = Add>
SegmentedResult segmented_inclusive_scan(const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                                         Out* out, Op op = {}, const Mask& valid = {}) {
  return segmented_inclusive_scan(policy, lists, content, n, out, op, detail::usual_init<Out, Op>(), valid);
}
/// The same of arrays, vectors, spans: `segmented_inclusive_scan(par, offsets, content, out)`.
template <detail::InputArray Content, detail::OutputArray Out, class Op = Add>
SegmentedResult segmented_inclusive_scan(const Policy& policy, const Lists& lists, const Content& content, Out&& out,
                                         Op op = {}, const Mask& valid = {}) {
  detail::require_equal_lengths(std::ssize(content), std::ssize(out));
  return segmented_inclusive_scan(policy, lists, std::ranges::data(content), std::ssize(content),
                                  std::ranges::data(out), op, valid);
}
/// The same, beginning with `init`.
template <detail::InputArray Content, detail::OutputArray Out, class Op>
SegmentedResult segmented_inclusive_scan(const Policy& policy, const Lists& lists, const Content& content, Out&& out,
                                         Op op, detail::ElementOf<Out> init, const Mask& valid = {}) {
  detail::require_equal_lengths(std::ssize(content), std::ssize(out));
  return segmented_inclusive_scan(policy, lists, std::ranges::data(content), std::ssize(content),
                                  std::ranges::data(out), op, init, valid);
}

/// Exclusive scans of all lists, each beginning with `init`. `content` and `out` hold n elements.
template <class In, class Out, class Op>
SegmentedResult segmented_exclusive_scan(const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                                         Out* out, Op op, std::type_identity_t<Out> init, const Mask& valid = {}) {
  return detail::segmented_scan(policy, lists, content, n, out, op, init, true, valid);
}
/// The same, beginning with the operator's identity.
template <class In, class Out, class Op = Add>
SegmentedResult segmented_exclusive_scan(const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                                         Out* out, Op op = {}, const Mask& valid = {}) {
  return segmented_exclusive_scan(policy, lists, content, n, out, op, detail::usual_init<Out, Op>(), valid);
}
/// The same of arrays, vectors, spans.
template <detail::InputArray Content, detail::OutputArray Out, class Op = Add>
SegmentedResult segmented_exclusive_scan(const Policy& policy, const Lists& lists, const Content& content, Out&& out,
                                         Op op = {}, const Mask& valid = {}) {
  detail::require_equal_lengths(std::ssize(content), std::ssize(out));
  return segmented_exclusive_scan(policy, lists, std::ranges::data(content), std::ssize(content),
                                  std::ranges::data(out), op, valid);
}
/// The same, beginning with `init`.
template <detail::InputArray Content, detail::OutputArray Out, class Op>
SegmentedResult segmented_exclusive_scan(const Policy& policy, const Lists& lists, const Content& content, Out&& out,
                                         Op op, detail::ElementOf<Out> init, const Mask& valid = {}) {
  detail::require_equal_lengths(std::ssize(content), std::ssize(out));
  return segmented_exclusive_scan(policy, lists, std::ranges::data(content), std::ssize(content),
                                  std::ranges::data(out), op, init, valid);
}

}  // namespace upsweep
