// SPDX-License-Identifier: Apache-2.0
// upsweep/segmented_reduce.hpp: reduces every list of a ragged array by itself.
//
//   segmented_reduce  out[i] = init ⊕ x0 ⊕ x1 …  of the elements x of list i, for any associative ⊕ (it need not commute),
//   or whether any or all of them are not zero, how many there are or are not zero, or where the smallest or greatest is.
//
// Shapes    lists: see lists.hpp; they are of `content`, and `out` has one element per list.
// Types     as in scan.hpp: the element type of `out` is the one that is computed in. any and all write bool or uint8, the
//           others int64. Content of bool is content of uint8.
// Empty     lists give init, and without one the operator's identity (of sums 0, of minima the greatest value or infinity), any
//           false, all true, and argmin and argmax -1.
// Init      takes part as an element does. Without it the fold is that of the elements: the sum of -0.0 alone is -0.0.
// Nulls     lists that are null give what empty ones do; elements that are null are skipped, but count as positions.
// NaN       min and max propagate it; argmin and argmax give the first one; it is not zero.
// Floats    of a list of up to 4,096 elements are folded one after the other, as a loop does; longer lists are split
//           every 4,096 elements, and the folds of these blocks are folded in order, after init. Not split, and so
//           folded by one thread, are lists with null elements by an operator of one's own. The bits do not depend on
//           the threads, the alignment, the instruction set and the lists around, but for which NaN a result is.
// Integers  wrap around or, with Overflow::checked and addition, throw `overflow` with the first list whose exact sum
//           does not fit. Products and operators of one's own have no checks: they are refused with it (unsupported).
// Errors    Error: those of lists.hpp, with index() the first bad list, unequal_lengths (a mask or `out` of another length),
//           overflow, invalid_argument, unknown_rung, unsupported, out_of_memory. After an error `out` is unspecified.
// In place  `out` must not overlap any input.
// GPU       the same with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, except those in …_async.
//           Compiled operators take the same type in and out, or sums of integers in the 64 bits of their sign. Floats are
//           added in another order than on the CPU; this order does not change from run to run.
//           Custom operators and types: see segmented_reduce.cuh.
// Source    J. T. Schwartz, "Ultracomputers", 1980 (segmented scans); G. E. Blelloch, "Vector models for data-parallel
//           computing", 1990; Awkward Array's awkward_reduce_*.
#pragma once

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

/// What segmented_reduce() takes in the place of an operator.
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

/// "fold", "any", "all", "count", …
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

/// The result of a call that writes something for every list.
struct ListsResult {
  std::int64_t lists;     ///< how many there are
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

template <class Op>
concept NamedReducer = requires { Op::kReducer; };

/// bool as the bytes that it is.
template <class T>
using ElementType = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// What an empty list gives unless an initial value is given: the operator's identity, of sums 0.
template <class Out, class Op>
constexpr Out usual_init() {
  static_assert(!kIsBitsOfFloats<Op, Out>, "bit operators are for integers, not for floats");
  constexpr Operator kOp = operator_of<Op, Out>();
  if constexpr (kOp == Operator::add && requires { Out{0}; }) {
    return Out{0};  // durations too
  } else if constexpr (kOp != Operator::custom && std::is_arithmetic_v<Out>) {
    return identity<Out>(kOp);
  } else {
    static_assert(
        kIsBitsOfFloats<Op, Out>,
        "an operator or a type of your own needs an initial value, which is what an empty list gives: pass one");
    return Out{};
  }
}

template <class Out, class Op>
inline constexpr bool kAddsFloats = std::is_floating_point_v<Out> && operator_of<Op, Out>() == Operator::add;

/// What a list's fold begins with unless an initial value is given: it changes no bit of the elements.
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

/// What the fold of a list begins with.
template <class Out>
struct Beginning {
  const Out* init;
  bool empty_is_zero;  ///< see SegmentedReduceCall
};
/// An initial value, which takes part as an element does. It must outlive the call.
template <class Out>
constexpr Beginning<Out> begin_with(const Out& init) {
  return {std::addressof(init), false};
}
/// No initial value.
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

/// A fold of those elements by that operator.
template <class In, class Out, class Op>
SegmentedReduceCall fold_call(const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
                              const Mask& valid) {
  auto call = segmented_reduce_call(lists, content, n, out, valid);
  describe_elements<ElementType<In>, Out>(call, op);
  return call;
}

/// One of the named reducers.
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

/// The same on the CPU. `op` must outlive the call.
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

/// use(call) of a fold on a GPU. Custom operators and types have another one in segmented_reduce.cuh.
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

/// How many of the lists there are. Throws invalid_argument for more than there can be.
inline void set_count(SegmentedReduceCall& call, const std::optional<gpu::Length>& number) {
  if (!number) return;
  if (number->most < 0 || number->most > call.lists.count) {
    throw Error(Code::invalid_argument, "the number of lists is not between 0 and how many there can be");
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

/// After the lists, content and output are both arrays or both pointers.
inline constexpr ArgumentRules kListsRules{.arrays = 1, .alike = 3};

}  // namespace detail

/// out[i] = init ⊕ the elements of list i. `content` holds n elements, `out` one per list.
template <class In, class Out, class Op, detail::AnyPolicy P = Policy>
ListsResult segmented_reduce(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                             std::type_identity_t<Out> init, Op op, const Mask& valid = {}) {
  return detail::segmented_reduce(policy, lists, content, n, out, op, detail::begin_with(init), valid);
}

/// The same without an initial value: `segmented_reduce(par, offsets, content, n, out, upsweep::max)`.
template <class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!detail::NamedReducer<Op>)
ListsResult segmented_reduce(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out,
                             Op op = {}, const Mask& valid = {}) {
  return detail::segmented_reduce(policy, lists, content, n, out, op, detail::usual_beginning<Out, Op>(), valid);
}

/// any, all, count, count_nonzero, argmin or argmax of every list.
template <class In, class Out, detail::NamedReducer Op, detail::AnyPolicy P = Policy>
ListsResult segmented_reduce(const P& policy, const Lists& lists, const In* content, std::int64_t n, Out* out, Op,
                             const Mask& valid = {}) {
  const auto call = detail::reducer_call<In, Out, Op>(lists, content, n, out, valid);
  return {lists.count, detail::run_segmented_reduce(policy, call)};
}

/// The same of arrays, vectors, spans: `segmented_reduce(par, offsets, content, out, upsweep::add)`, with nulls or without.
template <detail::ArrayArgument Content, detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult segmented_reduce(const P& policy, const Lists& lists, const Content& content, Out&& out, Op op = {},
                             const Mask& valid = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  detail::require_an_element_each(lists, detail::length_of(out));
  return upsweep::segmented_reduce(policy, lists, from, detail::length_of(content), to, op, valid);
}
/// The same, beginning with `init`.
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

/// Does not wait: `status`, in device memory, says how it ended once the stream has come that far. How many of the lists there are
/// may also be in device memory, outside the output: gpu::Length(address, lists.count) as `number`. Then cuda.lanes runs, and a
/// workspace is one for that rung. Returns the rung.
template <class In, class Out, class Op>
std::string_view segmented_reduce_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                        std::int64_t n, Out* out, gpu::ListsStatus* status,
                                        std::type_identity_t<Out> init, Op op, const Mask& valid = {},
                                        const std::optional<gpu::Length>& number = {}) {
  return detail::segmented_reduce_async(policy, lists, content, n, out, status, op, detail::begin_with(init), valid,
                                        number);
}

/// The same without an initial value.
template <class In, class Out, class Op = Add>
  requires(!detail::NamedReducer<Op>)
std::string_view segmented_reduce_async(const gpu::Policy& policy, const Lists& lists, const In* content,
                                        std::int64_t n, Out* out, gpu::ListsStatus* status, Op op = {},
                                        const Mask& valid = {}, const std::optional<gpu::Length>& number = {}) {
  return detail::segmented_reduce_async(policy, lists, content, n, out, status, op, detail::usual_beginning<Out, Op>(),
                                        valid, number);
}

/// The same of any, all, count, count_nonzero, argmin or argmax.
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

/// The device memory that such a call needs under that policy: for a Workspace. Calls with fewer lists and elements need no
/// more, where their lists lie one after the other as these do or do not. Of `lists` only what they are is looked at.
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
