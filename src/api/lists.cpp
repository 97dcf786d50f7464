// SPDX-License-Identifier: Apache-2.0
// api/lists.cpp: calls on lists whose types are known at run time.
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "api/calls.hpp"
#include "core/lists.hpp"
#include "core/reducer_kind.hpp"
#include "core/visit.hpp"
#include "upsweep/detail/by_key_call.hpp"
#include "upsweep/detail/group_by_call.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"
#include "upsweep/detail/segmented_sort_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep::dynamic {
namespace {

void require_type(Type type, Type wanted, const std::string& what) {
  if (type == wanted) return;
  throw Error(Code::invalid_argument, what + " are " + std::string(name(wanted)) + ", but the output is " +
                                          std::string(name(type)) + ": use an output of their type");
}

template <class AnyPolicy>
std::string_view run_fold(const AnyPolicy& policy, Operator op, const Lists& lists, ConstArray content, Array out,
                          const void* init, const Mask& valid) {
  detail::SegmentedReduceCall call;
  describe_fold(call, op, content, out.type);
  detail::require_an_element_each(lists, out.length);
  const Beginning beginning = beginning_of(op, out.type, init);
  call.lists = lists;
  call.out = out.data;
  call.init = beginning.init.bytes;
  call.empty_is_zero = beginning.empty_is_zero;
  call.valid = valid;
  return detail::run_segmented_reduce(policy, call);
}

template <class AnyPolicy>
std::string_view run_reducer(const AnyPolicy& policy, Reducer reducer, const Lists& lists, ConstArray content,
                             Array out, const Mask& valid) {
  const ReducerKind kind = kind_of(reducer);
  if (kind == ReducerKind::fold) throw Error(Code::invalid_argument, "a fold needs its operator");
  require_type(out.type, kind == ReducerKind::boolean ? Type::uint8 : Type::int64,
               "results of " + std::string(name(reducer)));
  detail::require_an_element_each(lists, out.length);
  detail::SegmentedReduceCall call;
  describe_elements(call, content, out.type);
  call.lists = lists;
  call.reducer = reducer;
  call.out = out.data;
  call.valid = valid;
  return detail::run_segmented_reduce(policy, call);
}

template <class AnyPolicy>
std::string_view run_scan(const AnyPolicy& policy, const ScanOptions& options, const Lists& lists, ConstArray content,
                          Array out, const void* init, const Mask& valid) {
  detail::SegmentedScanCall call;
  describe_fold(call, options.op, content, out.type);
  detail::require_equal_lengths(content.length, out.length);
  const Beginning beginning = beginning_of(options.op, out.type, init);
  call.lists = lists;
  call.out = out.data;
  call.init = beginning.init.bytes;
  call.empty_is_zero = beginning.empty_is_zero;
  call.exclusive = options.exclusive;
  call.valid = valid;
  return detail::run_segmented_scan(policy, call);
}

enum class Sorts : bool { elements, positions };

template <class AnyPolicy>
std::string_view run_sort(const AnyPolicy& policy, const Lists& lists, ConstArray content, Array out, Sorts sorts,
                          const SortOptions& options) {
  const bool positions = sorts == Sorts::positions;
  require_type(out.type, positions ? Type::int64 : content.type, positions ? "positions" : "sorted elements");
  require_element(content.type, "content");
  detail::require_array(out.data, out.length, "output");
  detail::SegmentedSortCall call;
  call.lists = lists;
  call.content = content.data;
  call.n = content.length;
  call.type = content.type;
  call.descending = options.descending;
  call.nan_first = options.nan_first;
  call.out = positions ? nullptr : out.data;
  call.positions = positions ? static_cast<std::int64_t*>(out.data) : nullptr;
  call.capacity = out.length;
  return detail::run_segmented_sort(policy, call);
}

template <class AnyPolicy>
ReducedByKey run_reduction_by_key(const AnyPolicy& policy, Operator op, ConstArray keys, ConstArray values,
                                  Array out_keys, Array out, const void* init) {
  require_element(keys.type, "keys");
  require_type(out_keys.type, keys.type, "keys of runs");
  detail::require_equal_lengths(keys.length, values.length);
  detail::SegmentedReduceCall reduction;
  describe_fold(reduction, op, values, out.type);
  const Beginning beginning = beginning_of(op, out.type, init);
  reduction.out = out.data;
  reduction.init = beginning.init.bytes;
  reduction.empty_is_zero = beginning.empty_is_zero;
  return detail::run_by_key(policy, {.keys = {keys.data, keys.length, keys.type},
                                     .reduction = &reduction,
                                     .out_keys = out_keys.data,
                                     .keys_capacity = out_keys.length,
                                     .capacity = out.length});
}

template <class AnyPolicy>
std::string_view run_scan_by_key(const AnyPolicy& policy, const ScanOptions& options, ConstArray keys,
                                 ConstArray values, Array out, const void* init) {
  require_element(keys.type, "keys");
  detail::require_equal_lengths(keys.length, values.length);
  detail::require_equal_lengths(values.length, out.length);
  detail::SegmentedScanCall scan;
  describe_fold(scan, options.op, values, out.type);
  const Beginning beginning = beginning_of(options.op, out.type, init);
  scan.out = out.data;
  scan.init = beginning.init.bytes;
  scan.empty_is_zero = beginning.empty_is_zero;
  scan.exclusive = options.exclusive;
  return detail::run_by_key(policy, {.keys = {keys.data, keys.length, keys.type}, .scan = &scan}).rung;
}

template <class AnyPolicy>
Grouped run_group_by(const AnyPolicy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys,
                     Array out, Array counts, const detail::GoOn* go_on) {
  require_element(keys.type, "keys");
  require_element(values.type, "values");
  require_element(out.type, "output");
  detail::require_equal_lengths(keys.length, values.length);
  require_type(out_keys.type, keys.type, "keys of groups");
  require_type(counts.type, Type::int64, "counts");
  return detail::run_group_by(policy, {.keys = keys.data,
                                       .key_type = keys.type,
                                       .in = values.data,
                                       .n = keys.length,
                                       .in_type = values.type,
                                       .out_type = out.type,
                                       .op = op,
                                       .out_keys = out_keys.data,
                                       .out = out.data,
                                       .out_counts = static_cast<std::int64_t*>(counts.data),
                                       .keys_capacity = out_keys.length,
                                       .capacity = out.length,
                                       .counts_capacity = counts.data != nullptr ? counts.length : 0,
                                       .go_on = go_on});
}

}  // namespace

Lists lists_of_offsets(ConstArray offsets) {
  detail::require_array(offsets.data, offsets.length, "offsets");
  const std::int64_t count = detail::lists_of_offsets(offsets.length);
  const auto* const stops = static_cast<const std::byte*>(offsets.data) + size_of(offsets.type);
  return lists_of_bounds({offsets.data, count, offsets.type}, {stops, count, offsets.type});
}

Lists lists_of_bounds(ConstArray starts, ConstArray stops) {
  require_bounds(starts.type, stops.type, Code::unsupported_type);
  detail::require_as_many_stops(starts.length, stops.length);
  return lists_between(starts.type, starts.data, stops.data, starts.length);
}

std::string_view segmented_reduce(const Policy& policy, Operator op, const Lists& lists, ConstArray content, Array out,
                                  const void* init, const Mask& valid) {
  return run_fold(policy, op, lists, content, out, init, valid);
}

std::string_view segmented_reduce(const gpu::Policy& policy, Operator op, const Lists& lists, ConstArray content,
                                  Array out, const void* init, const Mask& valid) {
  return run_fold(policy, op, lists, content, out, init, valid);
}

std::string_view segmented_reduce(const Policy& policy, Reducer reducer, const Lists& lists, ConstArray content,
                                  Array out, const Mask& valid) {
  return run_reducer(policy, reducer, lists, content, out, valid);
}

std::string_view segmented_reduce(const gpu::Policy& policy, Reducer reducer, const Lists& lists, ConstArray content,
                                  Array out, const Mask& valid) {
  return run_reducer(policy, reducer, lists, content, out, valid);
}

std::string_view segmented_scan(const Policy& policy, const ScanOptions& options, const Lists& lists,
                                ConstArray content, Array out, const void* init, const Mask& valid) {
  return run_scan(policy, options, lists, content, out, init, valid);
}

std::string_view segmented_scan(const gpu::Policy& policy, const ScanOptions& options, const Lists& lists,
                                ConstArray content, Array out, const void* init, const Mask& valid) {
  return run_scan(policy, options, lists, content, out, init, valid);
}

std::string_view segmented_sort(const Policy& policy, const Lists& lists, ConstArray content, Array out,
                                const SortOptions& options) {
  return run_sort(policy, lists, content, out, Sorts::elements, options);
}

std::string_view segmented_sort(const gpu::Policy& policy, const Lists& lists, ConstArray content, Array out,
                                const SortOptions& options) {
  return run_sort(policy, lists, content, out, Sorts::elements, options);
}

std::string_view segmented_argsort(const Policy& policy, const Lists& lists, ConstArray content, Array out,
                                   const SortOptions& options) {
  return run_sort(policy, lists, content, out, Sorts::positions, options);
}

std::string_view segmented_argsort(const gpu::Policy& policy, const Lists& lists, ConstArray content, Array out,
                                   const SortOptions& options) {
  return run_sort(policy, lists, content, out, Sorts::positions, options);
}

ReducedByKey reduce_by_key(const Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys,
                           Array out, const void* init) {
  return run_reduction_by_key(policy, op, keys, values, out_keys, out, init);
}

ReducedByKey reduce_by_key(const gpu::Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys,
                           Array out, const void* init) {
  return run_reduction_by_key(policy, op, keys, values, out_keys, out, init);
}

std::string_view scan_by_key(const Policy& policy, const ScanOptions& options, ConstArray keys, ConstArray values,
                             Array out, const void* init) {
  return run_scan_by_key(policy, options, keys, values, out, init);
}

std::string_view scan_by_key(const gpu::Policy& policy, const ScanOptions& options, ConstArray keys, ConstArray values,
                             Array out, const void* init) {
  return run_scan_by_key(policy, options, keys, values, out, init);
}

Grouped group_by(const Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys, Array out,
                 Array counts, const detail::GoOn& go_on) {
  return run_group_by(policy, op, keys, values, out_keys, out, counts, &go_on);
}

Grouped group_by(const gpu::Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys, Array out,
                 Array counts) {
  return run_group_by(policy, op, keys, values, out_keys, out, counts, nullptr);
}

ContentColumn content_column(ConstArray content, Array out) {
  require_element(content.type, "content");
  require_type(out.type, content.type, "moved elements");
  return {content.data, content.length, out.data, out.length, size_of(content.type)};
}

}  // namespace upsweep::dynamic
