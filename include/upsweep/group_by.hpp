// SPDX-License-Identifier: Apache-2.0
// upsweep/group_by.hpp: reduces the values of equal keys, which need not be adjacent: GROUP BY.
//
//   keys      7    2    7    5    2    7
//   values    a    b    c    d    e    f
//   group_by  7 2 5,    a⊕c⊕f  b⊕e  d        and if counts are requested 3 2 1
//
// Groups    are in the order of their first rows, for every rung, thread count and device. Only memory limits their
//           number.
// Rungs     those of the ladder group-by. Grouped::groups is the number of groups.
// Shapes    n keys and n values; outputs have capacity for the groups, or more. `n` is always enough.
// Keys      are integers. Overloads for host memory also take floats, strings and several keys: they number the keys
//           first, on one thread.
// Types     keys are integers, and are equal if their bits are. Values have the ten types of types.hpp, and results
//           the same type. Results of sums of integers may also have the 64-bit type of the same signedness.
// Operators those of operators.hpp. A group's fold begins with its first value; min, max and similar operators are
//           exact.
// Sums      of floats: cpu.serial, cpu.partitioned and cpu.sorted add up a group's values in the order of the rows.
//           The API's default also does so for up to 65536 rows. Calls with more rows are processed in tiles of 65536
//           rows. For each tile, the default adds the partial sum of the group in the tile's table, then the tile's
//           other values in order. Only the keys determine which values are in the table. Therefore the bits are the
//           same for any number of threads, alignment and instruction set. On a GPU, bits are the same on every run on
//           GPUs of one model. Exceptions are cuda.hash, cuda.shared, cuda.partitioned and cuda.cub, which run only if
//           requested by name.
// Overflow  with Overflow::checked, a sum of integers that does not fit is an error. Only the exact final sum is
//           checked, so the order of the rows does not matter. Products cannot be checked: with Overflow::checked they
//           are refused (unsupported).
// Errors    Error: unequal_lengths (keys and values; too little capacity for the groups), overflow with index() the
//           first group whose sum does not fit, unknown_rung, unsupported, out_of_memory. After an error outputs are
//           unspecified. Exception: too little capacity leaves them unchanged.
// In place  outputs must not overlap inputs or each other.
// Hashes    use a random secret of the process as key, so that nobody can construct keys for which a call is slow. No
//           result depends on the secret.
// Memory    depends on the number of groups. An entry is a key, 2 bytes and a result, which is 16 bytes for a checked
//           sum. Groups are stored as entries with 6 additional bytes. The number of other entries is at most 12 per
//           group, or 6 million, or 400,000 per thread, and never more than one per row.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, because the number of groups
//           is not known before. Memory is allocated from the policy's memory resource, not from its workspace. Sums
//           of few groups need 3/8 of a byte per row. Other calls need two to three times the size of keys and values.
//           If the pool has too little memory for a call on 2^24 rows or more, the error device_memory says how much is
//           needed. This error occurs before outputs are written.
// Source    SQL's GROUP BY; pandas' DataFrame.groupby.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/group_by_call.hpp"
#include "upsweep/detail/group_keys.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

namespace detail {

/// Results have the type of the values, or for sums of integers the 64-bit type of the same signedness.
template <class In, class Out, class Op>
concept GroupsCompiled = kCompiledOperator<In, Out, Op> != Operator::custom &&
                         (std::same_as<In, Out> ||
                          (kCompiledOperator<In, Out, Op> == Operator::add && std::integral<In> && std::integral<Out> &&
                           sizeof(Out) == 8 && std::is_signed_v<In> == std::is_signed_v<Out>));

template <class T>
concept GroupKey = std::integral<T> && type_of<T>() != Type::custom;

/// Returns a call whose outputs have no capacity yet.
template <class Key, class In, class Out, class Op>
GroupByCall group_by_call(const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out, const Op&) {
  static_assert(GroupKey<Key>, "keys must be integers of 8 to 64 bits; for others, see queries (query.hpp)");
  static_assert(!kIsBitsOfFloats<Op, Out>, "bit operators are for integers, not for floats");
  static_assert(
      GroupsCompiled<In, Out, Op>,
      "group_by takes the operators of upsweep/operators.hpp and values of the types of upsweep/types.hpp; results "
      "have the type of the values, or for sums of integers the 64-bit type of the same signedness");
  return {.keys = keys,
          .key_type = type_of<Key>(),
          .in = values,
          .n = n,
          .in_type = type_of<In>(),
          .out_type = type_of<Out>(),
          .op = kCompiledOperator<In, Out, Op>,
          .out_keys = out_keys,
          .out = out};
}
template <class Key, class In, class Out, class Op>
GroupByCall group_by_call(const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out,
                          std::int64_t capacity, const Op& op) {
  auto call = group_by_call(keys, values, n, out_keys, out, op);
  call.keys_capacity = capacity;
  call.capacity = capacity;
  return call;
}
/// Returns a call on arrays.
template <AnyPolicy P, class Keys, class Values, class OutKeys, class Out, class Op>
GroupByCall group_by_arrays(const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out, const Op& op) {
  require_memory_of<P, Keys, Values, OutKeys, Out>();
  const auto* const key = data_of(keys);
  const auto* const value = data_of(values);
  auto* const out_key = output_of(out_keys);
  auto* const result = output_of(out);
  static_assert(std::same_as<ElementOf<Keys>, ElementOf<OutKeys>>, "keys are written to an array of their type");
  require_equal_lengths(length_of(keys), length_of(values));
  auto call = group_by_call(key, value, length_of(keys), out_key, result, op);
  call.keys_capacity = length_of(out_keys);
  call.capacity = length_of(out);
  return call;
}

/// Arguments are all arrays, or all pointers with their lengths.
inline constexpr ArgumentRules kGroupByRules{.alike = 5, .integers = true};

/// Groups by the numbers of groups, and then writes the groups' keys. `group(numbers, values, out_numbers)` does the
/// former.
template <class Keys, class Values, class OutKeys, std::size_t... kEach, class Group>
Grouped group_by_numbered(const Policy& /*policy*/, const Keys& keys, const Values& values, const OutKeys& out_keys,
                          std::index_sequence<kEach...> /*each*/, const Group& group) {
  const NumberedKeys numbered = numbered_keys(std::get<kEach>(keys)...);
  const auto capacity = std::min({static_cast<std::size_t>(std::ranges::size(std::get<kEach>(out_keys)))...});
  std::vector<std::int64_t> out_numbers(capacity);
  const Grouped grouped = group(numbered.groups, values, out_numbers);
  (put_keys(std::get<kEach>(keys), numbered, std::get<kEach>(out_keys)), ...);
  return grouped;
}

}  // namespace detail

/// Reduces each group of equal keys: out_keys[g] = the key of group g, out[g] = the fold of its values. Example:
/// `group_by(par, keys, values, out_keys, out, max)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!std::ranges::range<Op>)
Grouped group_by(const P& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out, Op op = {}) {
  return detail::run_group_by(policy, detail::group_by_arrays<P>(keys, values, out_keys, out, op));
}
/// Reduces the values of each distinct key. `keys` and `values` point to n elements each, both outputs to `capacity`.
/// More groups than that are an error.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
Grouped group_by(const P& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out,
                 std::int64_t capacity, Op op = {}) {
  return detail::run_group_by(policy, detail::group_by_call(keys, values, n, out_keys, out, capacity, op));
}

/// Reduces each group of equal keys, and writes counts[g] = the number of rows of group g. Example:
/// `group_by(par, keys, values, out_keys, out, counts, add)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, std::ranges::range Counts, class Op = Add, detail::AnyPolicy P = Policy>
Grouped group_by(const P& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                 Counts&& counts, Op op = {}) {
  detail::require_memory_of<P, Counts>();
  static_assert(std::same_as<detail::ElementOf<Counts>, std::int64_t>, "counts are of std::int64_t");
  auto call = detail::group_by_arrays<P>(keys, values, out_keys, out, op);
  call.out_counts = detail::output_of(counts);
  call.counts_capacity = detail::length_of(counts);
  return detail::run_group_by(policy, call);
}
/// Reduces and counts the values of each distinct key. `keys` and `values` point to n elements each, all outputs to
/// `capacity`. More groups than that are an error.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
Grouped group_by(const P& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out,
                 std::int64_t* counts, std::int64_t capacity, Op op = {}) {
  auto call = detail::group_by_call(keys, values, n, out_keys, out, capacity, op);
  call.out_counts = counts;
  call.counts_capacity = capacity;
  return detail::run_group_by(policy, call);
}

/// Reduces the values of rows whose keys are all equal: several arrays of keys, of integers, floats, strings or other
/// types that std::hash has. out_keys are arrays with capacity for the groups. Keys are numbered on one thread of the
/// host. Among floats, -0.0 is the key 0.0, and every NaN is one key. Example:
/// `group_by(par, std::tie(countries, years), values, std::tie(out_countries, out_years), out)`.
template <class... Keys, detail::ArrayArgument Values, class... OutKeys, detail::ArrayArgument Out, class Op = Add>
  requires(!std::ranges::range<Op> && sizeof...(Keys) == sizeof...(OutKeys))
Grouped group_by(const Policy& policy, std::tuple<Keys&...> keys, const Values& values, std::tuple<OutKeys&...> out_keys,
                 Out&& out, Op op = {}) {
  return detail::group_by_numbered(policy, keys, values, out_keys, std::index_sequence_for<Keys...>(), [&](auto&&... of) {
    return group_by(policy, of..., out, op);
  });
}
/// Also writes counts[g] = the number of rows of group g.
template <class... Keys, detail::ArrayArgument Values, class... OutKeys, detail::ArrayArgument Out,
          std::ranges::range Counts, class Op = Add>
  requires(sizeof...(Keys) == sizeof...(OutKeys))
Grouped group_by(const Policy& policy, std::tuple<Keys&...> keys, const Values& values, std::tuple<OutKeys&...> out_keys,
                 Out&& out, Counts&& counts, Op op = {}) {
  return detail::group_by_numbered(policy, keys, values, out_keys, std::index_sequence_for<Keys...>(), [&](auto&&... of) {
    return group_by(policy, of..., out, counts, op);
  });
}
/// Reduces the values of equal keys that are floats or strings. Example:
/// `group_by(par, names, values, out_names, out, max)`.
template <detail::KeyArray Keys, detail::ArrayArgument Values, class OutKeys, detail::ArrayArgument Out, class Op = Add>
  requires(detail::ArrayArgument<Keys> && detail::kIsNumberedKey<detail::KeyOf<Keys>> && !std::ranges::range<Op>)
Grouped group_by(const Policy& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out,
                 Op op = {}) {
  return group_by(policy, std::tie(keys), values, std::tie(out_keys), out, op);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kGroupByRules, First, Rest...>
auto group_by(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kGroupByRules, First, Rest...>();
}
/// @endcond

}  // namespace upsweep
