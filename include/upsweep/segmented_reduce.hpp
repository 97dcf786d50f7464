// SPDX-License-Identifier: Apache-2.0
// upsweep/segmented_reduce.hpp: reduces each list of a ragged array.
//
//   segmented_reduce  out[i] = init ⊕ x0 ⊕ x1 …  of the elements x of list i, for any associative ⊕ (need not commute).
//   The named reducers compute whether any element or all elements are nonzero, the number of elements, or the number
//   of nonzero elements. They also compute the position of the smallest or largest element.
//
// Shapes    lists: see lists.hpp; they are ranges of `content`, and `out` has one element per list.
// Types     as in scan.hpp: the reduction computes in the element type of `out`. any and all write bool or uint8, the
//           other named reducers int64. Content of bool is read as uint8.
// Empty     the result of an empty list is init. Without init it is the operator's identity (0 for sums, the maximum
//           value or infinity for minima). For any it is false, for all true, for argmin and argmax -1.
// Init      is combined as an element is. Without it, only the elements are folded: the sum of a list of -0.0 is -0.0.
// Nulls     a null list has the result of an empty list. Null elements are skipped, but count as positions.
// NaN       min and max propagate NaN. argmin and argmax return the position of the first NaN. any, all and
//           count_nonzero treat NaN as nonzero.
// Floats    a list of up to 4,096 elements is folded one element after the other, as a loop does. Longer lists are
//           split every 4,096 elements, and the folds of these blocks are folded in order, after init. A list with
//           null elements and a custom operator is not split: one thread folds it. The bits do not depend on the
//           threads, the alignment, the instruction set or the other lists. Only the choice of NaN may differ, if a
//           result is NaN.
// Integers  wrap (modulo 2^bits). With Overflow::checked, addition throws `overflow` with the first list whose exact
//           sum does not fit. Products and custom operators cannot be checked: with Overflow::checked they are refused
//           (unsupported).
// Errors    Error: those of lists.hpp, with index() the first bad list, unequal_lengths (a mask or `out` has a wrong
//           length), overflow, invalid_argument, unknown_rung, unsupported, out_of_memory. After an error `out` is
//           unspecified.
// In place  `out` must not overlap any input.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, except calls named …_async.
//           Compiled operators support equal input and output types, and sums of integers into the 64-bit type of the
//           same signedness. Floats are added in another order than on the CPU; this order does not change from run to
//           run. Custom operators and types: see segmented_reduce.cuh.
// Source    J. T. Schwartz, "Ultracomputers", 1980 (segmented scans); G. E. Blelloch, "Vector models for data-parallel
//           computing", 1990; Awkward Array's awkward_reduce_*.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

/// A named reducer, which segmented_reduce() accepts in place of an operator.
template <Reducer kKind>
struct ReducerOf {
  static constexpr Reducer kReducer = kKind;
};
inline constexpr ReducerOf<Reducer::any> any{};
inline constexpr ReducerOf<Reducer::all> all{};
inline constexpr ReducerOf<Reducer::count> count{};
inline constexpr ReducerOf<Reducer::count_nonzero> count_nonzero{};
inline constexpr ReducerOf<Reducer::argmin> argmin{};
inline constexpr ReducerOf<Reducer::argmax> argmax{};

/// Returns the name of a reducer: "fold", "any", "all", "count", ….
[[nodiscard]] constexpr std::string_view name(Reducer reducer) {
  switch (reducer) {
    case Reducer::fold:
      return "fold";
    case Reducer::any:
      return "any";
    case Reducer::all:
      return "all";
    case Reducer::count:
      return "count";
    case Reducer::count_nonzero:
      return "count_nonzero";
    case Reducer::argmin:
      return "argmin";
    case Reducer::argmax:
      return "argmax";
  }
  detail::no_such_value();
}

/// The result of a call that writes one output per list.
struct ListsResult {
  std::int64_t lists;     ///< number of lists
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

template <class Op>
concept NamedReducer = requires { Op::kReducer; };

/// T, but std::uint8_t for bool.
template <class T>
using ElementType = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// Returns the result of an empty list if there is no initial value: the operator's identity, for sums 0.
template <class Out, class Op>
constexpr Out usual_init() {
  static_assert(!kIsBitsOfFloats<Op, Out>, "bit operators are for integers, not for floats");
  constexpr Operator kOp = operator_of<Op, Out>();
  if constexpr (kOp == Operator::add && requires { Out{0}; }) {
    return Out{0};  // also for durations
  } else if constexpr (kOp != Operator::custom && std::is_arithmetic_v<Out>) {
    return identity<Out>(kOp);
  } else {
    static_assert(kIsBitsOfFloats<Op, Out>,
                  "a custom operator or type needs an initial value, which is the result of an empty list: pass one");
    return Out{};
  }
}

template <class Out, class Op>
inline constexpr bool kAddsFloats = std::is_floating_point_v<Out> && operator_of<Op, Out>() == Operator::add;

/// Returns the value that a list's fold begins with if there is no initial value. It changes no bit of the elements.
template <class Out, class Op>
const Out& neutral_value() {
  static const Out value = [] {
    if constexpr (kAddsFloats<Out, Op>) {
      return identity<Out>(Operator::add);
    } else {
      return usual_init<Out, Op>();
    }
  }();
  return value;
}

/// The value that the fold of a list begins with.
template <class Out>
struct Beginning {
  const Out* init;
  bool empty_is_zero;  ///< see SegmentedReduceCall
};
/// Returns the beginning with an initial value, which is combined as an element is. `init` must outlive the call.
template <class Out>
constexpr Beginning<Out> begin_with(const Out& init) {
  return {std::addressof(init), false};
}
/// Returns the beginning without an initial value.
template <class Out, class Op>
Beginning<Out> usual_beginning() {
  return {std::addressof(neutral_value<Out, Op>()), kAddsFloats<Out, Op>};
}
template <class Call, class Out>
void set_beginning(Call& call, const Beginning<Out>& begin) {
  call.init = begin.init;
  call.empty_is_zero = begin.empty_is_zero;
}

template <class In>
SegmentedReduceCall segmented_reduce_call(const Lists& lists, const In* content, std::int64_t n, void* out,
                                          const Mask& valid) {
  SegmentedReduceCall call;
  call.lists = lists;
  call.in = content;
  call.n = n;
  call.out = out;
  call.valid = valid;
  return call;
}

/// Returns the call that folds the lists of `content` by `op`.
template <class In, class Out, class Op>
SegmentedReduceCall fold_call(const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
                              const Mask& valid) {
  auto call = segmented_reduce_call(lists, content, n, out, valid);
  describe_elements<ElementType<In>, Out>(call, op);
  return call;
}

/// Returns the call of a named reducer.
template <class In, class Out, NamedReducer Op>
SegmentedReduceCall reducer_call(const Lists& lists, const In* content, std::int64_t n, Out* out, const Mask& valid) {
  using Element = ElementType<In>;
  constexpr bool kIsBoolean = Op::kReducer == Reducer::any || Op::kReducer == Reducer::all;
  static_assert(kIsBoolean ? std::is_same_v<ElementType<Out>, std::uint8_t> : std::is_same_v<Out, std::int64_t>,
                "any and all write bool or uint8, counts and positions are int64");
  static_assert(type_of<Element>() != Type::custom, "elements must be of a type of types.hpp, or bool");
  auto call = segmented_reduce_call(lists, content, n, out, valid);
  call.reducer = Op::kReducer;
  call.in_type = type_of<Element>();
  call.in_size = sizeof(Element);
  call.out_type = type_of<ElementType<Out>>();
  call.out_size = sizeof(Out);
  return call;
}

/// Returns the call that folds lists on the CPU, with the loops of a custom operator. `op` must outlive the call.
template <class In, class Out, class Op>
SegmentedReduceCall host_fold_call(const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
                                   const Beginning<Out>& begin, const Mask& valid) {
  using Element = ElementType<In>;
  auto call = fold_call(lists, content, n, out, op, valid);
  if constexpr (kCompiledOperator<Element, Out, Op> == Operator::custom) {
    call.custom_fold = &kCustomFold<Element, Out, Op>;
  }
  set_beginning(call, begin);
  return call;
}

/// Calls use(call) with the call that folds lists on a GPU. segmented_reduce.cuh has an overload for custom operators
/// and types.
template <class In, class Out, class Op, class Use>
auto with_fold(OnDevice /*here*/, const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
               const Mask& valid, Use use) {
  static_assert(RunsCompiled<ElementType<In>, Out, Op>,
                "custom operators and types fold lists on a GPU by upsweep/segmented_reduce.cuh, which nvcc compiles");
  auto call = fold_call(lists, content, n, out, op, valid);
  return use(call);
}

template <class In, class Out, class Op>
ListsResult segmented_reduce(const Policy& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                             const Op& op, const Beginning<Out>& begin, const Mask& valid) {
  return {lists.count, run_segmented_reduce(policy, host_fold_call(lists, content, n, out, op, begin, valid))};
}
template <class In, class Out, class Op>
static ListsResult segmented_reduce(const gpu::Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                                    Out* out, const Op& op, const Beginning<Out>& begin, const Mask& valid) {
  return with_fold(OnDevice{}, lists, content, n, out, op, valid, [&](SegmentedReduceCall& call) {
    set_beginning(call, begin);
    return ListsResult{lists.count, run_segmented_reduce(policy, call)};
  });
}

/// Sets the number of lists, if one is given. Throws invalid_argument if it is negative or larger than lists.count.
inline void set_count(SegmentedReduceCall& call, const std::optional<gpu::Length>& number) {
  if (!number) return;
  if (number->most < 0 || number->most > call.lists.count) {
    throw Error(Code::invalid_argument, "the number of lists must be between 0 and lists.count");
  }
  call.lists.count = number->most;
  call.count_at = number->at;
}

template <class In, class Out, class Op>
static std::string_view segmented_reduce_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                               std::int64_t n, Out* out, gpu::ListsStatus* status, const Op& op,
                                               const Beginning<Out>& begin, const Mask& valid,
                                               const std::optional<gpu::Length>& number) {
  require_array(status, 1, "status");
  return with_fold(OnDevice{}, lists, content, n, out, op, valid, [&](SegmentedReduceCall& call) {
    set_beginning(call, begin);
    call.status = status;
    set_count(call, number);
    return run_segmented_reduce(policy, call);
  });
}

template <class In, class Out, class Op>
static gpu::WorkspaceSize fold_workspace(const gpu::Policy& policy, const Lists& lists, std::int64_t n, const Op& op,
                                         const Mask& valid) {
  const In* const content = nullptr;
  Out* const out = nullptr;
  return with_fold(OnDevice{}, lists, content, n, out, op, valid,
                   [&](SegmentedReduceCall& call) { return segmented_reduce_workspace(policy, call); });
}

/// The lists are followed by content and output, which are both arrays or both pointers.
inline constexpr ArgumentRules kListsRules{.arrays = 1, .alike = 3};

}  // namespace detail

/// Reduces each list: out[i] = init ⊕ the elements of list i. `content` has n elements, `out` one per list.
template <class In, class Out, class Op, detail::AnyPolicy P = Policy>
ListsResult segmented_reduce(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                             std::type_identity_t<Out> init, Op op, const Mask& valid = {}) {
  return detail::segmented_reduce(policy, lists, content, n, out, op, detail::begin_with(init), valid);
}

/// Reduces each list without an initial value: `segmented_reduce(par, offsets, content, n, out, upsweep::max)`.
template <class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!detail::NamedReducer<Op>)
ListsResult segmented_reduce(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                             Op op = {}, const Mask& valid = {}) {
  return detail::segmented_reduce(policy, lists, content, n, out, op, detail::usual_beginning<Out, Op>(), valid);
}

/// Computes any, all, count, count_nonzero, argmin or argmax of each list.
template <class In, class Out, detail::NamedReducer Op, detail::AnyPolicy P = Policy>
ListsResult segmented_reduce(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out, Op,
                             const Mask& valid = {}) {
  const auto call = detail::reducer_call<In, Out, Op>(lists, content, n, out, valid);
  return {lists.count, detail::run_segmented_reduce(policy, call)};
}

/// Reduces each list of ranges (arrays, vectors, spans), with nulls or without:
/// `segmented_reduce(par, offsets, content, out, upsweep::add)`.
template <detail::ArrayArgument Content, detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult segmented_reduce(const P& policy, const Lists& lists, const Content& content, Out&& out, Op op = {},
                             const Mask& valid = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  detail::require_an_element_each(lists, detail::length_of(out));
  return upsweep::segmented_reduce(policy, lists, from, detail::length_of(content), to, op, valid);
}
/// Reduces each list of ranges (arrays, vectors, spans), beginning with `init`.
template <detail::ArrayArgument Content, detail::ArrayArgument Out, class Op, detail::AnyPolicy P = Policy>
ListsResult segmented_reduce(const P& policy, const Lists& lists, const Content& content, Out&& out,
                             detail::ElementOf<Out> init, Op op, const Mask& valid = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  detail::require_an_element_each(lists, detail::length_of(out));
  return upsweep::segmented_reduce(policy, lists, from, detail::length_of(content), to, init, op, valid);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kListsRules, First, Rest...>
auto segmented_reduce(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kListsRules, First, Rest...>();
}
/// @endcond

/// Reduces each list without waiting. `status`, in device memory, contains the outcome once the stream has finished
/// the call. The number of lists may also be in device memory, outside the output: pass gpu::Length(address,
/// lists.count) as `number`. Then the rung is cuda.lanes, and a workspace must be one for cuda.lanes. Returns the rung.
template <class In, class Out, class Op>
std::string_view segmented_reduce_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                        std::int64_t n, Out* out, gpu::ListsStatus* status,
                                        std::type_identity_t<Out> init, Op op, const Mask& valid = {},
                                        const std::optional<gpu::Length>& number = {}) {
  return detail::segmented_reduce_async(policy, lists, content, n, out, status, op, detail::begin_with(init), valid,
                                        number);
}

/// Reduces each list without waiting and without an initial value. Returns the rung.
template <class In, class Out, class Op = Add>
  requires(!detail::NamedReducer<Op>)
std::string_view segmented_reduce_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                        std::int64_t n, Out* out, gpu::ListsStatus* status, Op op = {},
                                        const Mask& valid = {}, const std::optional<gpu::Length>& number = {}) {
  return detail::segmented_reduce_async(policy, lists, content, n, out, status, op, detail::usual_beginning<Out, Op>(),
                                        valid, number);
}

/// Computes any, all, count, count_nonzero, argmin or argmax of each list without waiting. Returns the rung.
template <class In, class Out, detail::NamedReducer Op>
std::string_view segmented_reduce_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                        std::int64_t n, Out* out, gpu::ListsStatus* status, Op, const Mask& valid = {},
                                        const std::optional<gpu::Length>& number = {}) {
  detail::require_array(status, 1, "status");
  auto call = detail::reducer_call<In, Out, Op>(lists, content, n, out, valid);
  call.status = status;
  detail::set_count(call, number);
  return detail::run_segmented_reduce(policy, call);
}

namespace gpu {

/// Returns the size of the Workspace that segmented_reduce() needs under the policy. It is also enough for calls with
/// fewer lists and elements, if the lists of both calls are adjacent, or the lists of neither call. The call uses only
/// the form of `lists`, not its memory.
template <class In, class Out, class Op = Add>
WorkspaceSize segmented_reduce_workspace(const Policy& policy, const Lists& lists, std::int64_t n, Op op = {},
                                         const Mask& valid = {}) {
  if constexpr (upsweep::detail::NamedReducer<Op>) {
    const In* const content = nullptr;
    Out* const out = nullptr;
    return upsweep::detail::segmented_reduce_workspace(
        policy, upsweep::detail::reducer_call<In, Out, Op>(lists, content, n, out, valid));
  } else {
    return upsweep::detail::fold_workspace<In, Out>(policy, lists, n, op, valid);
  }
}

}  // namespace gpu
}  // namespace upsweep
