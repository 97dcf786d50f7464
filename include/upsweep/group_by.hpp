// SPDX-License-Identifier: Apache-2.0
// upsweep/group_by.hpp: folds the values of equal keys, wherever these stand: GROUP BY.
//
//   keys      7    2    7    5    2    7
//   values    a    b    c    d    e    f
//   group_by  7 2 5,    a⊕c⊕f  b⊕e  d        and where counts are asked for 3 2 1
//
// Groups    come in the order of their first rows, on every rung, count of threads and device. There may be as many as fit memory.
// Rungs     those of the ladder group-by. Grouped::groups is how many groups there are.
// Shapes    n keys and n values; outputs have capacity for the groups, or more. n is always enough.
// Types     keys are integers, and equal where their bits are. Values are of the ten types of types.hpp, results of the same type;
//           sums of integers also of the 64 bits of their sign.
// Operators those of operators.hpp. A group's fold begins with its first value; min, max and their like are exact.
// Sums      of floats: cpu.serial, cpu.partitioned and cpu.sorted add up a group's values in the order of the rows. So does what the
//           API runs up to 65536 rows. Of more it adds up, tile after tile of so many rows, what a tile's table has of the group
//           and then the tile's other values in order; which is which depends on the keys alone. Then the bits are the same for any
//           number of threads, alignment and instruction set. On a GPU: the same on every run on GPUs of one kind, but not with
//           cuda.hash, cuda.shared, cuda.partitioned and cuda.cub, which are run where they are asked for by name.
// Overflow  with Overflow::checked a sum of integers that does not fit is an error; sums are exact, so that only the last one
//           counts, whatever the order. Products have no checks: they are refused with it (unsupported).
// Errors    Error: unequal_lengths (keys and values; too little capacity for the groups), overflow with index() the
//           first group that has a sum that does not fit, unknown_rung, unsupported, out_of_memory. Then outputs are
//           unspecified; where capacity was too little, they are as they were.
// In place  outputs must not overlap inputs or one another.
// Hashes    are keyed by a random secret of the process: nobody can make keys that are slow. No result depends on it.
// Memory    follows the groups. An entry is a key, 2 bytes and a result: 16 bytes where a sum is checked. Groups are kept as entries
//           of 6 bytes more. Of the rest there are at most 12 for each group, or 6 million, or 400,000 for each thread; and never
//           more than one for each row.
// GPU       the same with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, as the number of groups is not
//           known before. Memory comes from the policy's memory resource, not from its workspace: for sums of few groups 3/8 of a
//           byte a row, for others two to three times that of keys and values. Where the pool has too little for 2^24 rows or more
//           the error device_memory says how much is needed, before outputs are written.
// Source    SQL's GROUP BY; pandas' DataFrame.groupby.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/group_by_call.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

namespace detail {

/// Results have the type of the values, or sums of integers the 64 bits of their sign.
template <class In, class Out, class Op>
concept GroupsCompiled = kCompiledOperator<In, Out, Op> != Operator::custom &&
                         (std::same_as<In, Out> ||
                          (kCompiledOperator<In, Out, Op> == Operator::add && std::integral<In> && std::integral<Out> &&
                           sizeof(Out) == 8 && std::is_signed_v<In> == std::is_signed_v<Out>));

template <class T>
concept GroupKey = std::integral<T> && type_of<T>() != Type::custom;

/// Without outputs yet.
template <class Key, class In, class Out, class Op>
GroupByCall group_by_call(const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out, const Op&) {
  static_assert(GroupKey<Key>, "keys must be integers of 8 to 64 bits; for others, see queries (query.hpp)");
  static_assert(!kIsBitsOfFloats<Op, Out>, "bit operators are for integers, not for floats");
  static_assert(
      GroupsCompiled<In, Out, Op>,
      "group_by takes the operators of upsweep/operators.hpp and values of the types of upsweep/types.hpp; results "
      "are of the values' type, or sums of integers of the 64 bits of their sign");
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
/// Of arrays.
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

}  // namespace detail

/// out_keys[g], out[g] = the key of group g, the fold of its values: `group_by(par, keys, values, out_keys, out, max)`.
template <detail::ArrayArgument Keys, detail::ArrayArgument Values, detail::ArrayArgument OutKeys,
          detail::ArrayArgument Out, class Op = Add, detail::AnyPolicy P = Policy>
  requires(!std::ranges::range<Op>)
Grouped group_by(const P& policy, const Keys& keys, const Values& values, OutKeys&& out_keys, Out&& out, Op op = {}) {
  return detail::run_group_by(policy, detail::group_by_arrays<P>(keys, values, out_keys, out, op));
}
/// The same of n keys and values; both outputs hold up to `capacity` elements.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
Grouped group_by(const P& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out,
                 std::int64_t capacity, Op op = {}) {
  return detail::run_group_by(policy, detail::group_by_call(keys, values, n, out_keys, out, capacity, op));
}

/// The same, and counts[g] = how many rows group g has: `group_by(par, keys, values, out_keys, out, counts, add)`.
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
/// The same of n keys and values; all outputs hold up to `capacity` elements.
template <class Key, class In, class Out, class Op = Add, detail::AnyPolicy P = Policy>
Grouped group_by(const P& policy, const Key* keys, const In* values, std::int64_t n, Key* out_keys, Out* out,
                 std::int64_t* counts, std::int64_t capacity, Op op = {}) {
  auto call = detail::group_by_call(keys, values, n, out_keys, out, capacity, op);
  call.out_counts = counts;
  call.counts_capacity = capacity;
  return detail::run_group_by(policy, call);
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
