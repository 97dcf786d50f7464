// SPDX-License-Identifier: Apache-2.0
// upsweep/by_key.hpp: reduces and scans the values of equal keys that stand side by side, as those of sorted keys do.
//
//   keys                   2    2    5    5    5      7
//   values                 a    b    c    d    e      f
//   reduce_by_key          2 5 7,    a⊕b  c⊕d⊕e  f        each beginning with init
//   inclusive_scan_by_key  a    a⊕b  c    c⊕d  c⊕d⊕e  f    each beginning with init
//   exclusive_scan_by_key  init a    init c    c⊕d    init
//   key_offsets            0 2 5 6                        the runs of equal keys, as lists
//
// Runs      are lists: reduced and scanned as segmented.hpp and segmented_scan.hpp say. Keys that are not sorted have several
//           runs of one key, and each is reduced by itself.
// Rungs     those of the ladder by-key. SegmentedResult::lists is how many runs there are; kNoIndex where cuda.cub, asked for by
//           name, has scanned them, as it does not count them.
// Shapes    n keys and n values; outputs of scans hold n. Outputs of reductions have room for the runs, or more; key_offsets()
//           for one more than the runs. count_key_runs() says how many these are.
// Types     keys are integers or floats, or bool. Floats are equal as == has it, and all NaN are one key.
// Errors    Error: unequal_lengths (keys and values; too little room for the runs), overflow with index() the run that has a
//           sum that does not fit, unknown_rung (count_key_runs() and key_offsets() have no ladder), and those of
//           segmented.hpp. Then outputs are unspecified.
// In place  outputs must not overlap inputs, but that of a scan may be its values.
// Memory    8 bytes a run and 1/8 of a byte a key.
// On a GPU  with a gpu::Policy and device memory, by pointers and lengths, for the operators and types that segmented.hpp and
//           segmented_scan.hpp take there, and for reductions by operators of one's own with segmented.cuh. The keys are read
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
#include "upsweep/segmented.hpp"
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
SegmentedResult scan_by_key(const Policy& policy, const Keys& keys, const In* values, Out* out, const Op& op,
                            const Out& init, bool exclusive) {
  const auto scan = host_scan_call({}, values, keys.length, out, op, init, exclusive, {});
  const auto [runs, rung] = run_by_key(policy, {.keys = keys, .scan = &scan});
  return {runs, rung};
}
template <class In, class Out, class Op>
SegmentedResult scan_by_key(const gpu::Policy& policy, const Keys& keys, const In* values, Out* out, const Op& op,
                            const Out& init, bool exclusive) {
  const auto scan = segmented_scan_call({}, values, keys.length, out, op, init, exclusive, {});
  const auto [runs, rung] = run_by_key(policy, {.keys = keys, .scan = &scan});
  return {runs, rung};
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
  detail::require_equal_lengths(detail::length_of(keys), detail::length_of(values));
  const auto reduction = detail::host_fold_call({}, detail::data_of(values), detail::length_of(values),
                                                detail::output_of(out), op, init, {});
  return detail::run_by_key(policy, {.keys = detail::keys_of(keys),
                                     .reduction = &reduction,
                                     .out_keys = detail::output_of(out_keys),
                                     .keys_room = detail::length_of(out_keys),
                                     .room = detail::length_of(out)});
}
/// The same, beginning with the operator's identity: `reduce_by_key(par, keys, values, out_keys, out)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, class Op = Add>
ReducedByKey reduce_by_key(const Policy& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                           Op op = {}) {
  return reduce_by_key(policy, keys, values, out_keys, out, op, detail::usual_init<detail::ElementOf<Out>, Op>());
}

// ----------------------------------------------------------------------------------------------------------------- scans

/// Inclusive scans of the runs' values, each beginning with `init`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op>
SegmentedResult inclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out, Op op,
                                      detail::ElementOf<Out> init) {
  detail::require_equal_lengths(detail::length_of(keys), detail::length_of(values));
  detail::require_equal_lengths(detail::length_of(keys), detail::length_of(out));
  return detail::scan_by_key(policy, detail::keys_of(keys), detail::data_of(values), detail::output_of(out), op, init,
                             false);
}
/// The same, beginning with the operator's identity: `inclusive_scan_by_key(par, keys, values, out)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add>
SegmentedResult inclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out,
                                      Op op = {}) {
  return inclusive_scan_by_key(policy, keys, values, out, op, detail::usual_init<detail::ElementOf<Out>, Op>());
}

/// Exclusive scans of the runs' values, each beginning with `init`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op>
SegmentedResult exclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out, Op op,
                                      detail::ElementOf<Out> init) {
  detail::require_equal_lengths(detail::length_of(keys), detail::length_of(values));
  detail::require_equal_lengths(detail::length_of(keys), detail::length_of(out));
  return detail::scan_by_key(policy, detail::keys_of(keys), detail::data_of(values), detail::output_of(out), op, init,
                             true);
}
/// The same, beginning with the operator's identity.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument Out, class Op = Add>
SegmentedResult exclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out,
                                      Op op = {}) {
  return exclusive_scan_by_key(policy, keys, values, out, op, detail::usual_init<detail::ElementOf<Out>, Op>());
}

/// @cond
// Calls without a policy are refused.
template <detail::NotAPolicy First, class... Rest>
auto count_key_runs(const First& /*first*/, const Rest&... /*rest*/) {
  return detail::refuse_without_policy<First>();
}
template <detail::NotAPolicy First, class... Rest>
auto key_offsets(const First& /*first*/, const Rest&... /*rest*/) {
  return detail::refuse_without_policy<First>();
}
template <detail::NotAPolicy First, class... Rest>
auto reduce_by_key(const First& /*first*/, const Rest&... /*rest*/) {
  return detail::refuse_without_policy<First>();
}
template <detail::NotAPolicy First, class... Rest>
auto inclusive_scan_by_key(const First& /*first*/, const Rest&... /*rest*/) {
  return detail::refuse_without_policy<First>();
}
template <detail::NotAPolicy First, class... Rest>
auto exclusive_scan_by_key(const First& /*first*/, const Rest&... /*rest*/) {
  return detail::refuse_without_policy<First>();
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
  const auto run = [&](detail::SegmentedCall& reduction) {
    reduction.init = std::addressof(init);
    return detail::run_by_key(policy, {.keys = detail::keys_at(keys, n),
                                       .reduction = &reduction,
                                       .out_keys = out_keys,
                                       .keys_room = room,
                                       .room = room});
  };
  return with_fold(detail::OnDevice{}, Lists{}, values, n, out, op, Mask{}, run);  // also that of segmented.cuh
}
/// The same, beginning with the operator's identity.
template <class Key, class In, class Out, class Op = Add>
ReducedByKey reduce_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys,
                           Out* out, std::int64_t room, Op op = {}) {
  return reduce_by_key(policy, keys, values, n, out_keys, out, room, op, detail::usual_init<Out, Op>());
}

/// Inclusive scans of the runs' values, each beginning with `init`, of n keys, values and outputs.
template <class Key, class In, class Out, class Op>
  requires detail::RunsCompiled<detail::ElementType<In>, Out, Op>
SegmentedResult inclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op, std::type_identity_t<Out> init) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, init, false);
}
/// The same, beginning with the operator's identity.
template <class Key, class In, class Out, class Op = Add>
  requires detail::RunsCompiled<detail::ElementType<In>, Out, Op>
SegmentedResult inclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op = {}) {
  return inclusive_scan_by_key(policy, keys, values, n, out, op, detail::usual_init<Out, Op>());
}

/// Exclusive scans of the runs' values, each beginning with `init`.
template <class Key, class In, class Out, class Op>
  requires detail::RunsCompiled<detail::ElementType<In>, Out, Op>
SegmentedResult exclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op, std::type_identity_t<Out> init) {
  return detail::scan_by_key(policy, detail::keys_at(keys, n), values, out, op, init, true);
}
/// The same, beginning with the operator's identity.
template <class Key, class In, class Out, class Op = Add>
  requires detail::RunsCompiled<detail::ElementType<In>, Out, Op>
SegmentedResult exclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op = {}) {
  return exclusive_scan_by_key(policy, keys, values, n, out, op, detail::usual_init<Out, Op>());
}

}  // namespace upsweep
