// SPDX-License-Identifier: Apache-2.0
// upsweep/by_key.hpp: reduces and scans the values of equal adjacent keys, as in sorted keys.
//
//   keys                   2    2    5    5    5      7
//   values                 a    b    c    d    e      f
//   reduce_by_key          2 5 7,    a⊕b  c⊕d⊕e  f        each run begins with init, if init is given
//   inclusive_scan_by_key  a    a⊕b  c    c⊕d  c⊕d⊕e  f    each run begins with init, if init is given
//   exclusive_scan_by_key  init a    init c    c⊕d    init
//   key_offsets            0 2 5 6                        the runs of equal keys, as lists
//
// Runs      are lists, and are reduced and scanned as in segmented_reduce.hpp and segmented_scan.hpp. If keys are not
//           sorted, one key may have several runs, and each run is reduced separately.
// Rungs     those of the ladder by-key. ListsResult::lists is the number of runs. If cuda.cub is requested by name for
//           a scan, it is kNoIndex, because that rung does not count the runs.
// Shapes    n keys and n values; outputs of scans have n elements. Outputs of reductions have capacity for the runs,
//           or more. The output of key_offsets() has capacity for one element more than there are runs.
//           `count_key_runs()` returns the number of runs.
// Types     keys are integers or floats, or bool. Floats are equal if == is true, and all NaN are one key.
// Errors    Error: unequal_lengths (keys and values; too little capacity for the runs), overflow with index() the run
//           whose sum does not fit. Also unknown_rung, unsupported (count_key_runs() and key_offsets() have no ladder),
//           and the errors of segmented_reduce.hpp. After an error, outputs are unspecified.
// In place  outputs must not overlap inputs, except that the output of a scan may be its values.
// Memory    8 bytes per run and 1/8 of a byte per key.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. Operators and types are those that segmented_reduce.hpp
//           and segmented_scan.hpp support on a GPU; reductions by custom operators need segmented_reduce.cuh. The
//           keys are read once. All calls wait for the stream, because the number of runs is not known before. The
//           policy's memory resource provides 8 bytes per run and 1/8 of a byte per key. The policy's workspace is
//           used for the reduction or scan of the runs.
// Source    C++'s and Thrust's reduce_by_key; NumPy's ufunc.reduceat.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

#include "upsweep/detail/arguments.hpp"
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
  const auto scan = device_scan_call({}, values, keys.length, out, op, begin, exclusive, {});
  const auto [runs, rung] = run_by_key(policy, {.keys = keys, .scan = &scan});
  return {runs, rung};
}
/// Scans the runs of keys that are given as arrays.
template <AnyPolicy P, class Keys, class Values, class Out, class Op>
ListsResult scan_runs(const P& policy, const Keys& keys, const Values& values, Out&& out, const Op& op,
                      const Beginning<ElementOf<Out>>& begin, bool exclusive) {
  require_memory_of<P, Keys, Values, Out>();
  require_equal_lengths(length_of(keys), length_of(values));
  require_equal_lengths(length_of(keys), length_of(out));
  return detail::scan_by_key(policy, keys_of(keys), data_of(values), output_of(out), op, begin, exclusive);
}

/// Reduces the runs of the keys in `call`, which also contains the output for the keys.
template <class In, class Out, class Op>
ReducedByKey reduce_by_key(const Policy& policy, ByKeyCall call, const In* values, Out* out, const Op& op,
                           const Beginning<Out>& begin) {
  const auto reduction = host_fold_call({}, values, call.keys.length, out, op, begin, {});
  call.reduction = &reduction;
  return run_by_key(policy, call);
}
template <class In, class Out, class Op>
static ReducedByKey reduce_by_key(const gpu::Policy& policy, ByKeyCall call, const In* values, Out* out, const Op& op,
                                  const Beginning<Out>& begin) {
  const auto run = [&](SegmentedReduceCall& reduction) {
    set_beginning(reduction, begin);
    call.reduction = &reduction;
    return run_by_key(policy, call);
  };
  return with_fold(OnDevice{}, Lists{}, values, call.keys.length, out, op, Mask{}, run);
}
/// Reduces the runs of keys that are given as arrays.
template <AnyPolicy P, class Keys, class Values, class OutKeys, class Out, class Op>
ReducedByKey reduce_runs(const P& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                         const Op& op, const Beginning<ElementOf<Out>>& begin) {
  require_memory_of<P, Keys, Values, OutKeys, Out>();
  static_assert(std::same_as<ElementOf<Keys>, ElementOf<OutKeys>>, "keys are written to an array of their type");
  require_equal_lengths(length_of(keys), length_of(values));
  const ByKeyCall call{.keys = keys_of(keys),
                       .out_keys = output_of(out_keys),
                       .keys_capacity = length_of(out_keys),
                       .capacity = length_of(out)};
  return detail::reduce_by_key(policy, call, data_of(values), output_of(out), op, begin);
}

// Arguments are all arrays, or all pointers with their lengths.
template <class... Rest>
inline constexpr ArgumentRules kCountRunsRules{.arrays = sizeof...(Rest) == 1 ? 1 : 0, .integers = true};
inline constexpr ArgumentRules kKeyOffsetsRules{.alike = 3, .integers = true};
template <class... Rest>
inline constexpr ArgumentRules kReduceByKeyRules{.alike = kBeginsWithArrays<Rest...> ? 4 : 5, .lengths = 2};
template <class... Rest>
inline constexpr ArgumentRules kScanByKeyRules{.alike = kBeginsWithArrays<Rest...> ? 3 : 4};

}  // namespace detail

// ---------------------------------------------------------------------------------------------------------------- runs

/// Returns the number of runs of equal keys.
template <detail::ArrayArgument Keys, detail::AnyPolicy P = Policy>
std::int64_t count_key_runs(const P& policy, const Keys& keys) {
  detail::require_memory_of<P, Keys>();
  return detail::count_key_runs(policy, detail::keys_of(keys));
}
/// Counts the runs of n keys, given by a pointer.
template <class Key, detail::AnyPolicy P = Policy>
std::int64_t count_key_runs(const P& policy, const Key* keys, std::int64_t n) {
  return detail::count_key_runs(policy, detail::keys_at(keys, n));
}

/// Writes the offsets of the runs. Returns the number of runs.
template <detail::ArrayArgument Keys, detail::ArrayArgument Offsets, detail::AnyPolicy P = Policy>
std::int64_t key_offsets(const P& policy, const Keys& keys, Offsets&& offsets) {
  detail::require_memory_of<P, Keys, Offsets>();
  return detail::write_key_offsets(policy, detail::keys_of(keys), detail::offsets_of(offsets),
                                   detail::length_of(offsets));
}
/// Writes the offsets of the runs of n keys, given by a pointer. `offsets` has capacity for `capacity` elements.
template <class Key, detail::AnyPolicy P = Policy>
std::int64_t key_offsets(const P& policy, const Key* keys, std::int64_t n, std::int64_t* offsets,
                         std::int64_t capacity) {
  return detail::write_key_offsets(policy, detail::keys_at(keys, n), offsets, capacity);
}

// ---------------------------------------------------------------------------------------------------------- reductions

/// Reduces each run: out_keys[r] = the key of run r, out[r] = init ⊕ the values of run r. Example:
/// `reduce_by_key(par, keys, values, out_keys, out, 0, add)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, class Op, detail::AnyPolicy P = Policy>
ReducedByKey reduce_by_key(const P& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                           detail::ElementOf<Out> init, Op op) {
  return detail::reduce_runs(policy, keys, values, out_keys, out, op, detail::begin_with(init));
}
/// Reduces each run without an initial value: `reduce_by_key(par, keys, values, out_keys, out)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
ReducedByKey reduce_by_key(const P& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                           Op op = {}) {
  return detail::reduce_runs(policy, keys, values, out_keys, out, op,
                             detail::usual_beginning<detail::ElementOf<Out>, Op>());
}
/// Reduces each run of n keys and values, given by pointers. Both outputs have capacity for `capacity` elements.
template <class Key, class In, class Out, class Op, detail::AnyPolicy P = Policy>
ReducedByKey reduce_by_key(const P& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out,
                           std::int64_t capacity, std::type_identity_t<Out> init, Op op) {
  const detail::ByKeyCall call{
      .keys = detail::keys_at(keys, n), .out_keys = out_keys, .keys_capacity = capacity, .capacity = capacity};
  return detail::reduce_by_key(policy, call, values, out, op, detail::begin_with(init));
}
/// Reduces each run of n keys and values, given by pointers, without an initial value.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
ReducedByKey reduce_by_key(const P& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out,
                           std::int64_t capacity, Op op = {}) {
  const detail::ByKeyCall call{
      .keys = detail::keys_at(keys, n), .out_keys = out_keys, .keys_capacity = capacity, .capacity = capacity};
  return detail::reduce_by_key(policy, call, values, out, op, detail::usual_beginning<Out, Op>());
}

// --------------------------------------------------------------------------------------------------------------- scans

/// Computes the inclusive scan of the values of each run, beginning with `init`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op,
          detail::AnyPolicy P = Policy>
ListsResult inclusive_scan_by_key(const P& policy, const Keys& keys, const Values& values, Out&& out,
                                  detail::ElementOf<Out> init, Op op) {
  return detail::scan_runs(policy, keys, values, out, op, detail::begin_with(init), false);
}
/// Computes the inclusive scan of the values of each run without an initial value:
/// `inclusive_scan_by_key(par, keys, values, out)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add,
          detail::AnyPolicy P = Policy>
ListsResult inclusive_scan_by_key(const P& policy, const Keys& keys, const Values& values, Out&& out, Op op = {}) {
  return detail::scan_runs(policy, keys, values, out, op, detail::usual_beginning<detail::ElementOf<Out>, Op>(), false);
}
/// Computes the inclusive scan of each run of n keys and values, given by pointers. The output has n elements.
template <class Key, class In, class Out, class Op, detail::AnyPolicy P = Policy>
ListsResult inclusive_scan_by_key(const P& policy, const Key* keys, const In* values, std::int64_t n, Out* out,
                                  std::type_identity_t<Out> init, Op op) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::begin_with(init), false);
}
/// Computes the inclusive scan of each run of n keys and values, given by pointers, without an initial value.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult inclusive_scan_by_key(const P& policy, const Key* keys, const In* values, std::int64_t n, Out* out,
                                  Op op = {}) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::usual_beginning<Out, Op>(),
                             false);
}

/// Computes the exclusive scan of the values of each run, beginning with `init`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add,
          detail::AnyPolicy P = Policy>
ListsResult exclusive_scan_by_key(const P& policy, const Keys& keys, const Values& values, Out&& out,
                                  detail::ElementOf<Out> init, Op op = {}) {
  return detail::scan_runs(policy, keys, values, out, op, detail::begin_with(init), true);
}
/// Computes the exclusive scan of the values of each run without an initial value.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add,
          detail::AnyPolicy P = Policy>
  requires(!std::is_convertible_v<Op, detail::ElementOf<Out>>)
ListsResult exclusive_scan_by_key(const P& policy, const Keys& keys, const Values& values, Out&& out, Op op = {}) {
  return detail::scan_runs(policy, keys, values, out, op, detail::usual_beginning<detail::ElementOf<Out>, Op>(), true);
}
/// Computes the exclusive scan of each run of n keys and values, given by pointers, beginning with `init`.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
ListsResult exclusive_scan_by_key(const P& policy, const Key* keys, const In* values, std::int64_t n, Out* out,
                                  std::type_identity_t<Out> init, Op op = {}) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::begin_with(init), true);
}
/// Computes the exclusive scan of each run of n keys and values, given by pointers, without an initial value.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!std::is_convertible_v<Op, Out>)
ListsResult exclusive_scan_by_key(const P& policy, const Key* keys, const In* values, std::int64_t n, Out* out,
                                  Op op = {}) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, detail::usual_beginning<Out, Op>(),
                             true);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kCountRunsRules<Rest...>, First, Rest...>
auto count_key_runs(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kCountRunsRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kKeyOffsetsRules, First, Rest...>
auto key_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kKeyOffsetsRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kReduceByKeyRules<Rest...>, First, Rest...>
auto reduce_by_key(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kReduceByKeyRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kScanByKeyRules<Rest...>, First, Rest...>
auto inclusive_scan_by_key(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kScanByKeyRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kScanByKeyRules<Rest...>, First, Rest...>
auto exclusive_scan_by_key(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kScanByKeyRules<Rest...>, First, Rest...>();
}
/// @endcond

}  // namespace upsweep
