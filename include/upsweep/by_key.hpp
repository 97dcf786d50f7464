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
// Runs      are lists: reduced and scanned as segmented.hpp and segmented_scan.hpp say, by their rungs. Keys that are not
//           sorted have several runs of one key, and each is reduced by itself.
// Shapes    n keys and n values; outputs of scans hold n. Outputs of reductions have room for the runs, or more; key_offsets()
//           for one more than the runs. count_key_runs() says how many these are.
// Types     keys are integers or floats, or bool. Floats are equal as == has it, and all NaN are one key.
// Errors    Error: unequal_lengths (keys and values; too little room for the runs), overflow with index() the run that has a
//           sum that does not fit, unknown_rung (count_key_runs() and key_offsets() have no ladder), and those of
//           segmented.hpp. Then outputs are unspecified.
// In place  outputs must not overlap inputs, but that of a scan may be its values. Takes 8 bytes of memory a run.
// On a GPU  with a gpu::Policy and device memory, by pointers and lengths, for the operators and types that segmented.hpp and
//           segmented_scan.hpp take there, and for reductions by operators of one's own with segmented.cuh. The keys are read
//           once, and all calls wait, as nobody knows before how many runs there are. 8 bytes a run and 1/8 of a byte a key
//           come from the policy's memory resource; its workspace, if it has one, is that of the reduction or scan of the runs.
// Source    C++'s and Thrust's reduce_by_key; NumPy's ufunc.reduceat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "upsweep/gpu.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/segmented.hpp"
#include "upsweep/segmented_scan.hpp"

namespace upsweep {

/// The result of a reduction by keys.
struct ReducedByKey {
  std::int64_t runs;      ///< how many keys and values were written
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

struct Keys {
  const void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::int64;
};

template <class T>
Keys keys_at(const T* keys, std::int64_t n) {
  static_assert(type_of<ElementType<T>>() != Type::custom, "keys must be of a type of types.hpp, or bool");
  return {keys, n, type_of<ElementType<T>>()};
}

std::int64_t count_key_runs(const Policy& policy, const Keys& keys);
/// Throws unequal_lengths where more than `room` offsets are to be written. Returns the runs.
std::int64_t write_key_offsets(const Policy& policy, const Keys& keys, std::int64_t* offsets, std::int64_t room);

/// The runs of equal keys, as lists.
class KeyRuns {
 public:
  KeyRuns(const Policy& policy, const Keys& keys);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Lists lists() const { return Lists::by_offsets(offsets_.get(), count_); }
  /// Each run's key.
  void write_keys(const Policy& policy, const Keys& keys, void* out) const;

 private:
  std::unique_ptr<std::int64_t[]> offsets_;  // before count_, whose initialiser fills it
  std::int64_t count_;
};

/// The same of keys in device memory. Both wait for the stream.
std::int64_t count_key_runs(const gpu::Policy& policy, const Keys& keys);
std::int64_t write_key_offsets(const gpu::Policy& policy, const Keys& keys, std::int64_t* offsets, std::int64_t room);

/// The runs of equal keys in device memory, as lists. The policy's memory resource must outlive it.
class DeviceKeyRuns {
 public:
  DeviceKeyRuns(const gpu::Policy& policy, const Keys& keys);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Lists lists() const {
    return Lists::by_offsets(static_cast<const std::int64_t*>(offsets_->scratch()), count_);
  }
  /// Each run's key. Does not wait.
  void write_keys(void* out) const;

 private:
  gpu::Policy policy_;
  Keys keys_;
  std::int64_t count_ = 0;
  std::optional<gpu::Workspace> offsets_;
};

/// Throws unequal_lengths where outputs have no room for the runs, invalid_argument where the keys' overlaps something.
void require_reduced(std::int64_t runs, std::span<const std::byte> keys, std::span<const std::byte> values,
                     std::span<const std::byte> out_keys, std::int64_t keys_room, std::span<const std::byte> out,
                     std::int64_t room);
template <class R>
std::span<const std::byte> bytes_of(const R& array) {
  return std::as_bytes(std::span(std::ranges::data(array), static_cast<std::size_t>(std::ssize(array))));
}
template <class T>
std::span<const std::byte> bytes_at(const T* data, std::int64_t n) {
  return std::as_bytes(std::span(data, static_cast<std::size_t>(n)));
}

}  // namespace detail

// ---------------------------------------------------------------------------------------------------------------- runs

/// How many runs of equal keys there are.
template <detail::InputArray Keys>
std::int64_t count_key_runs(const Policy& policy, const Keys& keys) {
  return detail::count_key_runs(policy, detail::keys_at(std::ranges::data(keys), std::ssize(keys)));
}

/// The offsets of the runs. Returns how many runs there are.
template <detail::InputArray Keys, detail::OutputArray Offsets>
  requires std::same_as<detail::ElementOf<Offsets>, std::int64_t>
std::int64_t key_offsets(const Policy& policy, const Keys& keys, Offsets&& offsets) {
  return detail::write_key_offsets(policy, detail::keys_at(std::ranges::data(keys), std::ssize(keys)),
                                   std::ranges::data(offsets), std::ssize(offsets));
}

// ------------------------------------------------------------------------------------------------------------ reductions

/// out_keys[r], out[r] = the key of run r, init ⊕ its values: `reduce_by_key(par, keys, values, out_keys, out, add, 0)`.
template <detail::InputArray Keys, detail::InputArray Values, detail::OutputArray OutKeys, detail::OutputArray Out,
          class Op>
  requires std::same_as<detail::ElementOf<Keys>, detail::ElementOf<OutKeys>>
ReducedByKey reduce_by_key(const Policy& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                           Op op, detail::ElementOf<Out> init) {
  detail::require_equal_lengths(std::ssize(keys), std::ssize(values));
  const auto given = detail::keys_at(std::ranges::data(keys), std::ssize(keys));
  const detail::KeyRuns runs(policy, given);
  detail::require_reduced(runs.count(), detail::bytes_of(keys), detail::bytes_of(values), detail::bytes_of(out_keys),
                          std::ssize(out_keys), detail::bytes_of(out), std::ssize(out));
  const auto result = segmented_reduce(policy, runs.lists(), std::ranges::data(values), std::ssize(values),
                                       std::ranges::data(out), op, init);
  runs.write_keys(policy, given, std::ranges::data(out_keys));
  return {runs.count(), result.rung};
}
/// The same, beginning with the operator's identity: `reduce_by_key(par, keys, values, out_keys, out)`.
template <detail::InputArray Keys, detail::InputArray Values, detail::OutputArray OutKeys, detail::OutputArray Out,
          class Op = Add>
  requires std::same_as<detail::ElementOf<Keys>, detail::ElementOf<OutKeys>>
ReducedByKey reduce_by_key(const Policy& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                           Op op = {}) {
  return reduce_by_key(policy, keys, values, out_keys, out, op, detail::usual_init<detail::ElementOf<Out>, Op>());
}

// ----------------------------------------------------------------------------------------------------------------- scans

/// Inclusive scans of the runs' values, each beginning with `init`.
template <detail::InputArray Keys, detail::InputArray Values, detail::OutputArray Out, class Op>
SegmentedResult inclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out, Op op,
                                      detail::ElementOf<Out> init) {
  detail::require_equal_lengths(std::ssize(keys), std::ssize(values));
  const detail::KeyRuns runs(policy, detail::keys_at(std::ranges::data(keys), std::ssize(keys)));
  return segmented_inclusive_scan(policy, runs.lists(), values, out, op, init);
}
/// The same, beginning with the operator's identity: `inclusive_scan_by_key(par, keys, values, out)`.
template <detail::InputArray Keys, detail::InputArray Values, detail::OutputArray Out, class Op = Add>
SegmentedResult inclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out,
                                      Op op = {}) {
  return inclusive_scan_by_key(policy, keys, values, out, op, detail::usual_init<detail::ElementOf<Out>, Op>());
}

/// Exclusive scans of the runs' values, each beginning with `init`.
template <detail::InputArray Keys, detail::InputArray Values, detail::OutputArray Out, class Op>
SegmentedResult exclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out, Op op,
                                      detail::ElementOf<Out> init) {
  detail::require_equal_lengths(std::ssize(keys), std::ssize(values));
  const detail::KeyRuns runs(policy, detail::keys_at(std::ranges::data(keys), std::ssize(keys)));
  return segmented_exclusive_scan(policy, runs.lists(), values, out, op, init);
}
/// The same, beginning with the operator's identity.
template <detail::InputArray Keys, detail::InputArray Values, detail::OutputArray Out, class Op = Add>
SegmentedResult exclusive_scan_by_key(const Policy& policy, const Keys& keys, const Values& values, Out&& out,
                                      Op op = {}) {
  return exclusive_scan_by_key(policy, keys, values, out, op, detail::usual_init<detail::ElementOf<Out>, Op>());
}

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
  detail::require_array(values, n, "values");
  detail::require_array(out_keys, room, "the keys of the runs");
  detail::require_array(out, room, "output");
  const detail::DeviceKeyRuns runs(policy, detail::keys_at(keys, n));
  detail::require_reduced(runs.count(), detail::bytes_at(keys, n), detail::bytes_at(values, n),
                          detail::bytes_at(out_keys, room), room, detail::bytes_at(out, room), room);
  runs.write_keys(out_keys);  // first, as the reduction is waited for
  return {runs.count(), segmented_reduce(policy, runs.lists(), values, n, out, op, init).rung};
}
/// The same, beginning with the operator's identity.
template <class Key, class In, class Out, class Op = Add>
ReducedByKey reduce_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys,
                           Out* out, std::int64_t room, Op op = {}) {
  return reduce_by_key(policy, keys, values, n, out_keys, out, room, op, detail::usual_init<Out, Op>());
}

/// Inclusive scans of the runs' values, each beginning with `init`, of n keys, values and outputs.
template <class Key, class In, class Out, class Op>
SegmentedResult inclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op, std::type_identity_t<Out> init) {
  const detail::DeviceKeyRuns runs(policy, detail::keys_at(keys, n));
  return segmented_inclusive_scan(policy, runs.lists(), values, n, out, op, init);
}
/// The same, beginning with the operator's identity.
template <class Key, class In, class Out, class Op = Add>
SegmentedResult inclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op = {}) {
  return inclusive_scan_by_key(policy, keys, values, n, out, op, detail::usual_init<Out, Op>());
}

/// Exclusive scans of the runs' values, each beginning with `init`.
template <class Key, class In, class Out, class Op>
SegmentedResult exclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op, std::type_identity_t<Out> init) {
  const detail::DeviceKeyRuns runs(policy, detail::keys_at(keys, n));
  return segmented_exclusive_scan(policy, runs.lists(), values, n, out, op, init);
}
/// The same, beginning with the operator's identity.
template <class Key, class In, class Out, class Op = Add>
SegmentedResult exclusive_scan_by_key(const gpu::Policy& policy, const Key* keys, const In* values, std::int64_t n,
                                      Out* out, Op op = {}) {
  return exclusive_scan_by_key(policy, keys, values, n, out, op, detail::usual_init<Out, Op>());
}

}  // namespace upsweep
