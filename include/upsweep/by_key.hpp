// SPDX-License-Identifier: Apache-2.0
// upsweep/by_key.hpp: reduces and scans the values of equal keys that stand side by side, as those of sorted keys do.
//
//   keys                   2    2    5    5    5      7
//   values                 a    b    c    d    e      f
//   reduce_by_key          2 5 7,    a⊕b  c⊕d⊕e  f        each beginning with init, if there is one
//   inclusive_scan_by_key  a    a⊕b  c    c⊕d  c⊕d⊕e  f    each beginning with init, if there is one
//   exclusive_scan_by_key  init a    init c    c⊕d    init
//   key_offsets            0 2 5 6                        the runs of equal keys, as lists
//
// Runs      are lists: reduced and scanned as segmented_reduce.hpp and segmented_scan.hpp say. Keys that are not sorted have several
//           runs of one key, and each is reduced by itself.
// Rungs     those of the ladder by-key. ListsResult::lists is how many runs there are; kNoIndex where cuda.cub, asked for by
//           name, has scanned them, as it does not count them.
// Shapes    n keys and n values; outputs of scans hold n. Outputs of reductions have room for the runs, or more; key_offsets()
//           for one more than the runs. count_key_runs() says how many these are.
// Types     keys are integers or floats, or bool. Floats are equal as == has it, and all NaN are one key.
// Errors    Error: unequal_lengths (keys and values; too little room for the runs), overflow with index() the run that has a
//           sum that does not fit, unknown_rung, unsupported (count_key_runs() and key_offsets() have no ladder), and those of
//           segmented_reduce.hpp. Then outputs are unspecified.
// In place  outputs must not overlap inputs, but that of a scan may be its values.
// Memory    8 bytes a run and 1/8 of a byte a key.
// On a GPU  with a gpu::Policy and device memory, by pointers and lengths, for the operators and types that segmented_reduce.hpp and
//           segmented_scan.hpp take there, and for reductions by operators of one's own with segmented_reduce.cuh. The keys are read
//           once, and all calls wait, as nobody knows before how many runs there are. 8 bytes a run and 1/8 of a byte a key
//           come from the policy's memory resource; its workspace, if it has one, is that of the reduction or scan of the runs.
// Source    C++'s and Thrust's reduce_by_key; NumPy's ufunc.reduceat.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

#include "upsweep/detail/by_key_call.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_scan.hpp"

namespace upsweep {

namespace detail {

template <class T>
Keys keys_at(const T* keys, std::int64_t n) {
  static_assert(type_of<ElementType<T>>() != Type::custom, "keys must be of a type of types.hpp, or bool");
  return {keys, n, type_of<ElementType<T>>()};
}
template <class R>
Keys keys_of(const R& keys) {
  return keys_at(data_of(keys), length_of(keys));
}

template <class In, class Out, class Op>
ListsResult scan_by_key(const Policy& policy, const Keys& keys, const In* values, Out* out, const Op& op,
                        const Beginning<Out>& begin, bool exclusive) {
  const auto scan = host_scan_call({}, values, keys.length, out, op, begin, exclusive, {});
  const auto [runs, rung] = run_by_key(policy, {.keys = keys, .scan = &scan});
  return {runs, rung};
}
template <class In, class Out, class Op>
ListsResult scan_by_key(const gpu::Policy& policy, const Keys& keys, const In* values, Out* out, const Op& op,
                        const Beginning<Out>& begin, bool exclusive) {
  const auto scan = segmented_scan_call({}, values, keys.length, out, op, begin, exclusive, {});
  const auto [runs, rung] = run_by_key(policy, {.keys = keys, .scan = &scan});
  return {runs, rung};
}

/// Of ranges.
template <class Keys, class Values, class OutKeys, class Out, class Op>
ReducedByKey reduce_runs(const Policy& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                         const Op& op, const Beginning<ElementOf<Out>>& begin) {
  static_assert(std::same_as<ElementOf<Keys>, ElementOf<OutKeys>>, "keys are written to an array of their type");
  require_equal_lengths(length_of(keys), length_of(values));
  const auto reduction = host_fold_call({}, data_of(values), length_of(values), output_of(out), op, begin, {});
  return run_by_key(policy, {.keys = keys_of(keys),
                             .reduction = &reduction,
                             .out_keys = output_of(out_keys),
                             .keys_room = length_of(out_keys),
                             .room = length_of(out)});
}
template <class Keys, class Values, class Out, class Op>
ListsResult scan_runs(const Policy& policy, const Keys& keys, const Values& values, Out&& out, const Op& op,
                      const Beginning<ElementOf<Out>>& begin, bool exclusive) {
  require_equal_lengths(length_of(keys), length_of(values));
  require_equal_lengths(length_of(keys), length_of(out));
  return scan_by_key(policy, keys_of(keys), data_of(values), output_of(out), op, begin, exclusive);
}

template <class Key, class In, class Out, class Op>
ReducedByKey reduce_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys,
                           Out* out, std::int64_t room, const Op& op, const Beginning<Out>& begin) {
  const auto run = [&](SegmentedReduceCall& reduction) {
    set_beginning(reduction, begin);
    return run_by_key(
        policy,
        {.keys = keys_at(keys, n), .reduction = &reduction, .out_keys = out_keys, .keys_room = room, .room = room});
  };
  return with_fold(OnDevice{}, Lists{}, values, n, out, op, Mask{}, run);  // also that of segmented_reduce.cuh
}

}  // namespace detail

// ---------------------------------------------------------------------------------------------------------------- runs

/// How many runs of equal keys there are.
template <detail::ArrayArgument Keys>
std::int64_t count_key_runs(const Policy& policy, const Keys& keys) {
  return detail::count_key_runs(policy, detail::keys_of(keys));
}

/// The offsets of the runs. Returns how many runs there are.
template <detail::ArrayArgument Keys, detail::ArrayArgument Offsets>
std::int64_t key_offsets(const Policy& policy, const Keys& keys, Offsets&& offsets) {
  return detail::write_key_offsets(policy, detail::keys_of(keys), detail::offsets_of(offsets),
                                   detail::length_of(offsets));
}

// ------------------------------------------------------------------------------------------------------------ reductions

/// out_keys[r], out[r] = the key of run r, init ⊕ its values: `reduce_by_key(par, keys, values, out_keys, out, add, 0)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, class Op>
ReducedByKey reduce_by_key(const Policy& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                           Op op, detail::ElementOf<Out> init) {
  static_assert(std::same_as<detail::ElementOf<Keys>, detail::ElementOf<OutKeys>>,
                "keys are written to an array of their type");
  return detail::reduce_runs(policy, keys, values, out_keys, out, op, detail::begin_with(init));
}
/// The same without an initial value: `reduce_by_key(par, keys, values, out_keys, out)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, class Op = Add>
ReducedByKey reduce_by_key(const Policy& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                           Op op = {}) {
  return detail::reduce_runs(policy, keys, values, out_keys, out, op,
                             detail::usual_beginning<detail::ElementOf<Out>, Op>());
}

// ----------------------------------------------------------------------------------------------------------------- scans

/// Inclusive scans of the runs' values, each beginning with `init`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op>
ListsResult inclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out, Op op,
                                  detail::ElementOf<Out> init) {
  return detail::scan_runs(policy, keys, values, out, op, detail::begin_with(init), false);
}
/// The same without an initial value: `inclusive_scan_by_key(par, keys, values, out)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add>
ListsResult inclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out, Op op = {}) {
  return detail::scan_runs(policy, keys, values, out, op, detail::usual_beginning<detail::ElementOf<Out>, Op>(), false);
}

/// Exclusive scans of the runs' values, each beginning with `init`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add>
ListsResult exclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out,
                                  detail::ElementOf<Out> init, Op op = {}) {
  return detail::scan_runs(policy, keys, values, out, op, detail::begin_with(init), true);
}
/// The same without an initial value.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add>
  requires(!std::is_convertible_v<Op, detail::ElementOf<Out>>)
ListsResult exclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out, Op op = {}) {
  return detail::scan_runs(policy, keys, values, out, op, detail::usual_beginning<detail::ElementOf<Out>, Op>(), true);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::RefusedCallOfIntegers<First, std::remove_cvref_t<Rest>...>
auto count_key_runs(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse_call<First, std::remove_cvref_t<Rest>...>();
}
template <class First, class... Rest>
  requires detail::RefusedCallOfIntegers<First, std::remove_cvref_t<Rest>...>
auto key_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse_call<First, std::remove_cvref_t<Rest>...>();
}
template <class First, class... Rest>
  requires detail::RefusedCall<First, std::remove_cvref_t<Rest>...>
auto reduce_by_key(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse_call<First, std::remove_cvref_t<Rest>...>();
}
template <class First, class... Rest>
  requires detail::RefusedCall<First, std::remove_cvref_t<Rest>...>
auto inclusive_scan_by_key(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse_call<First, std::remove_cvref_t<Rest>...>();
}
template <class First, class... Rest>
  requires detail::RefusedCall<First, std::remove_cvref_t<Rest>...>
auto exclusive_scan_by_key(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse_call<First, std::remove_cvref_t<Rest>...>();
}
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op, class Init>
  requires(detail::kIsOperatorOn<Op, detail::ElementOf<Out>> && std::is_convertible_v<Init, detail::ElementOf<Out>>)
auto exclusive_scan_by_key(const Policy& /*policy*/, const Keys& /*keys*/, const Values& /*values*/, Out&& /*out*/,
                           const Op& /*op*/, const Init& /*init*/) {
  static_assert(
      !detail::ArrayArgument<Keys>,
      "the initial value comes before the operator: exclusive_scan_by_key(policy, keys, values, out, init, op)");
}
template <class... Rest>
  requires detail::PointerForArray<detail::kAllArguments, 0, Rest...>
auto count_key_runs(const Policy& /*policy*/, Rest&&... /*rest*/) {
  return detail::refuse_pointer<Rest...>();
}
template <class... Rest>
  requires detail::PointerForArray<detail::kAllArguments, 0, Rest...>
auto key_offsets(const Policy& /*policy*/, Rest&&... /*rest*/) {
  return detail::refuse_pointer<Rest...>();
}
template <class... Rest>
  requires detail::PointerForArray<4, 0, Rest...>
auto reduce_by_key(const Policy& /*policy*/, Rest&&... /*rest*/) {
  return detail::refuse_pointer<Rest...>();
}
template <class... Rest>
  requires detail::PointerForArray<3, 0, Rest...>
auto inclusive_scan_by_key(const Policy& /*policy*/, Rest&&... /*rest*/) {
  return detail::refuse_pointer<Rest...>();
}
template <class... Rest>
  requires detail::PointerForArray<3, 0, Rest...>
auto exclusive_scan_by_key(const Policy& /*policy*/, Rest&&... /*rest*/) {
  return detail::refuse_pointer<Rest...>();
}
/// @endcond

// ------------------------------------------------------------------------------------------------------------ on a GPU
// The same with a gpu::Policy and device memory: see gpu.hpp. All wait for the stream.

template <class Key>
std::int64_t count_key_runs(const gpu::Policy& policy, const Key* keys, std::int64_t n) {
  return detail::count_key_runs(policy, detail::keys_at(keys, n));
}

/// The offsets of the runs, where there is room for so many. Returns how many runs there are.
template <class Key>
std::int64_t key_offsets(const gpu::Policy& policy, const Key* keys, std::int64_t n, std::int64_t* offsets,
                         std::int64_t room) {
  return detail::write_key_offsets(policy, detail::keys_at(keys, n), offsets, room);
}

/// out_keys[r], out[r] = the key of run r, init ⊕ its values, of n keys and values; `room` of both outputs.
template <class Key, class In, class Out, class Op>
ReducedByKey reduce_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys,
                           Out* out, std::int64_t room, Op op, std::type_identity_t<Out> init) {
  return detail::reduce_by_key(policy, keys, values, n, out_keys, out, room, op, detail::begin_with(init));
}
/// The same without an initial value.
template <class Key, class In, class Out, class Op = Add>
ReducedByKey reduce_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys,
                           Out* out, std::int64_t room, Op op = {}) {
  return detail::reduce_by_key(policy, keys, values, n, out_keys, out, room, op, detail::usual_beginning<Out, Op>());
}

/// Inclusive scans of the runs' values, each beginning with `init`, of n keys, values and outputs.
template <class Key, class In, class Out, class Op>
  requires detail::RunsCompiled<detail::ElementType<In>, Out, Op>
ListsResult inclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                  Out* out, Op op, std::type_identity_t<Out> init) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::begin_with(init), false);
}
/// The same without an initial value.
template <class Key, class In, class Out, class Op = Add>
  requires detail::RunsCompiled<detail::ElementType<In>, Out, Op>
ListsResult inclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                  Out* out, Op op = {}) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::usual_beginning<Out, Op>(),
                             false);
}

/// Exclusive scans of the runs' values, each beginning with `init`.
template <class Key, class In, class Out, class Op = Add>
  requires detail::RunsCompiled<detail::ElementType<In>, Out, Op>
ListsResult exclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                  Out* out, std::type_identity_t<Out> init, Op op = {}) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::begin_with(init), true);
}
/// The same without an initial value.
template <class Key, class In, class Out, class Op = Add>
  requires(detail::RunsCompiled<detail::ElementType<In>, Out, Op> && !std::is_convertible_v<Op, Out>)
ListsResult exclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                  Out* out, Op op = {}) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::usual_beginning<Out, Op>(),
                             true);
}

}  // namespace upsweep
