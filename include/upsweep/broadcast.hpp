// SPDX-License-Identifier: Apache-2.0
// upsweep/broadcast.hpp: converts between offsets, lengths, parents and positions of lists, and broadcasts values.
//
//   lengths      2  0  3            of each list
//   offsets      0  2  2  5         where each list begins, and where the last list ends
//   parents      0  0  2  2  2      for each element, the list that contains it
//   local index  0  1  0  1  2      for each element, its position in its list
//   broadcast    a  a  c  c  c      for each element, the value of its list: values a, b, c
//
// Lists     must be adjacent if their elements are written by position: given by offsets or of one size, and none null.
//           For other lists, compute packed offsets first: pack_offsets() of pack.hpp, offsets() of offsets.hpp.
//           Offsets may begin with any value: out[0] belongs to the first element of the first list.
// Types     offsets, lengths and parents that are read are int32, uint32 or int64; outputs are int64. Values of 1, 2,
//           4, 8 or 16 bytes are moved as bytes.
// Shapes    outputs have capacity for the elements of all lists, or more; offsets n + 1. Functions return the number of
//           elements written.
// Errors    Error, with index() the first bad list (for parents, element): stop_before_start (offsets decrease, a
//           length is negative, parents are not sorted), index_out_of_range, stop_past_end, overflow, unequal_lengths.
//           Without an index: unequal_lengths (the capacity is too small), invalid_argument, unknown_rung,
//           unsupported, out_of_memory. After an error, outputs are unspecified; nothing is written past their ends.
// Rungs     offsets_to_parents, local_index and broadcast run the ladder broadcast. The other functions have no ladder.
// In place  outputs must not overlap inputs.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. Views of lists are host objects. Calls wait for the
//           stream, because a bad list is an error. Calls named …_async do not wait: they write a gpu::PackStatus,
//           which contains the first bad list (for parents, element), its error, and the number of elements.
// Source    Awkward Array's kernels localindex, broadcast_tooffsets, flatten_offsets, and its parents.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/broadcast_call.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

namespace detail {

template <class R>
concept PositionsOut = OutputArray<R> && std::same_as<ElementOf<R>, std::int64_t>;

/// Returns n lengths or parents in the place of the lists of a ConversionCall.
inline Lists numbers_at(Type type, const void* numbers, std::int64_t n) {
  Lists lists;
  lists.starts = numbers;
  lists.stops = numbers;
  lists.type = type;
  lists.count = n;
  return lists;
}
inline ConversionCall lengths_call(Type type, const void* lengths, std::int64_t n, const Mask& valid,
                                   std::int64_t* offsets) {
  ConversionCall call;
  call.kind = ConversionCall::Kind::lengths_to_offsets;
  call.lists = numbers_at(type, lengths, n).with_validity(valid);
  call.out = offsets;
  return call;
}
inline ConversionCall flatten_call(const Lists& outer, const Lists& inner, std::int64_t* offsets) {
  ConversionCall call;
  call.kind = ConversionCall::Kind::flatten;
  call.lists = outer;
  call.inner = inner;
  call.out = offsets;
  return call;
}
inline ConversionCall elements_call(ConversionCall::Kind kind, const Lists& lists, void* out, std::int64_t capacity) {
  ConversionCall call;
  call.kind = kind;
  call.lists = lists;
  call.out = out;
  call.capacity = capacity;
  return call;
}
inline ConversionCall from_parents_call(Type type, const void* parents, std::int64_t elements, std::int64_t n,
                                        std::int64_t* offsets) {
  return elements_call(ConversionCall::Kind::parents_to_offsets, numbers_at(type, parents, elements), offsets, n);
}
inline ConversionCall to_offsets_call(const Lists& lists, const std::int64_t* offsets, std::int64_t content,
                                      std::int64_t* positions, std::int64_t capacity) {
  ConversionCall call = elements_call(ConversionCall::Kind::broadcast_to_offsets, lists, positions, capacity);
  call.offsets = offsets;
  call.content = content;
  return call;
}

// GPU overloads of the functions with these names that run on the CPU.
inline std::int64_t run_lengths_to_offsets(const gpu::Policy& policy, Type type, const void* lengths, std::int64_t n,
                                           const Mask& valid, std::int64_t* offsets) {
  return run_conversion(policy, lengths_call(type, lengths, n, valid, offsets));
}
inline void run_flatten(const gpu::Policy& policy, const Lists& outer, const Lists& inner, std::int64_t* offsets) {
  run_conversion(policy, flatten_call(outer, inner, offsets));
}
inline void run_parents_to_offsets(const gpu::Policy& policy, Type type, const void* parents, std::int64_t elements,
                                   std::int64_t n, std::int64_t* offsets) {
  run_conversion(policy, from_parents_call(type, parents, elements, n, offsets));
}
inline std::int64_t run_broadcast_to_offsets(const gpu::Policy& policy, const Lists& lists, const std::int64_t* offsets,
                                             std::int64_t content, std::int64_t* positions, std::int64_t capacity) {
  return run_conversion(policy, to_offsets_call(lists, offsets, content, positions, capacity));
}

// Arguments are arrays, or pointers with lengths.
inline constexpr ArgumentRules kLengthsRules{.alike = 3, .integers = true};
inline constexpr ArgumentRules kFlattenRules{.arrays = 2, .integers = true};
template <class... Rest>
inline constexpr ArgumentRules kIndexRules{.arrays = sizeof...(Rest) == 2 ? 2 : 1, .integers = true};
inline constexpr ArgumentRules kParentsRules{.alike = 2, .integers = true};
inline constexpr ArgumentRules kBroadcastRules{.arrays = 1, .alike = 2, .lengths = 2};

}  // namespace detail

// ---------------------------------------------------------------------------------------------------- lengths, offsets

/// Computes the offsets of n lists from their lengths. If `valid` is given and false for a list, its length counts as
/// 0. `offsets` has n + 1 elements. Returns the last offset.
template <ListBound T, detail::AnyPolicy P = Policy>
std::int64_t lengths_to_offsets(const P& policy, const T* lengths, std::int64_t n, std::int64_t* offsets,
                                const Mask& valid = {}) {
  return detail::run_lengths_to_offsets(policy, type_of<T>(), lengths, n, valid, offsets);
}
template <std::ranges::range Lengths, std::ranges::range Offsets, detail::AnyPolicy P = Policy>
std::int64_t lengths_to_offsets(const P& policy, const Lengths& lengths, Offsets&& offsets, const Mask& valid = {}) {
  detail::require_memory_of<P, Lengths, Offsets>();
  const auto* const from = detail::bounds_of(lengths);
  std::int64_t* const to = detail::offsets_of(offsets);
  detail::require_offsets(detail::length_of(offsets), detail::length_of(lengths));
  return upsweep::lengths_to_offsets(policy, from, detail::length_of(lengths), to, valid);
}

/// Computes the offsets of the contents of lists of lists. List i of the result contains all elements of all inner
/// lists of outer list i. Therefore offsets[i] is inner offset number outer[i]. `offsets` has outer.count + 1 elements.
/// Throws index_out_of_range if an outer list starts before the first inner list or ends past the last inner list;
/// index() is the first such outer list.
template <detail::AnyPolicy P = Policy>
void flatten(const P& policy, const Lists& outer, const Lists& inner, std::int64_t* offsets) {
  detail::run_flatten(policy, outer, inner, offsets);
}
template <std::ranges::range Offsets, detail::AnyPolicy P = Policy>
void flatten(const P& policy, const Lists& outer, const Lists& inner, Offsets&& offsets) {
  detail::require_memory_of<P, Offsets>();
  detail::require_offsets(detail::length_of(offsets), outer.count);
  upsweep::flatten(policy, outer, inner, detail::offsets_of(offsets));
}

// ------------------------------------------------------------------------------------------------------------- parents

/// Writes for every element the list that contains it.
template <detail::AnyPolicy P = Policy>
std::int64_t offsets_to_parents(const P& policy, const Lists& lists, std::int64_t* parents, std::int64_t capacity) {
  return detail::run_broadcast(policy, detail::parents_call(lists, parents, capacity)).total;
}
template <std::ranges::range Parents, detail::AnyPolicy P = Policy>
std::int64_t offsets_to_parents(const P& policy, const Lists& lists, Parents&& parents) {
  detail::require_memory_of<P, Parents>();
  return upsweep::offsets_to_parents(policy, lists, detail::offsets_of(parents), detail::length_of(parents));
}

/// Computes the offsets of n lists from the sorted parents of their elements; `offsets` has n + 1 elements. An error
/// has the index of the first element whose parent is less than the parent before it (stop_before_start) or is not a
/// list (index_out_of_range).
template <ListBound T, detail::AnyPolicy P = Policy>
void parents_to_offsets(const P& policy, const T* parents, std::int64_t elements, std::int64_t n,
                        std::int64_t* offsets) {
  detail::run_parents_to_offsets(policy, type_of<T>(), parents, elements, n, offsets);
}
template <std::ranges::range Parents, std::ranges::range Offsets, detail::AnyPolicy P = Policy>
void parents_to_offsets(const P& policy, const Parents& parents, Offsets&& offsets) {
  detail::require_memory_of<P, Parents, Offsets>();
  const auto* const from = detail::bounds_of(parents);
  std::int64_t* const to = detail::offsets_of(offsets);
  const std::int64_t n = detail::lists_of_offsets(detail::length_of(offsets));
  upsweep::parents_to_offsets(policy, from, detail::length_of(parents), n, to);
}

// ----------------------------------------------------------------------------------------------------------- positions

/// Writes for every element its position in its list.
template <detail::AnyPolicy P = Policy>
std::int64_t local_index(const P& policy, const Lists& lists, std::int64_t* index, std::int64_t capacity) {
  return detail::run_broadcast(policy, detail::local_index_call(lists, index, capacity)).total;
}
template <std::ranges::range Index, detail::AnyPolicy P = Policy>
std::int64_t local_index(const P& policy, const Lists& lists, Index&& index) {
  detail::require_memory_of<P, Index>();
  return upsweep::local_index(policy, lists, detail::offsets_of(index), detail::length_of(index));
}

/// Writes for every element the value of its list.
template <detail::AnyPolicy P = Policy>
std::int64_t broadcast(const P& policy, const Lists& lists, const void* values, std::int64_t element_size, void* out,
                       std::int64_t capacity) {
  return detail::run_broadcast(policy, detail::broadcast_call(lists, values, element_size, out, capacity)).total;
}
template <std::ranges::range Values, std::ranges::range Out, detail::AnyPolicy P = Policy>
std::int64_t broadcast(const P& policy, const Lists& lists, const Values& values, Out&& out) {
  detail::require_memory_of<P, Values, Out>();
  const auto* const from = detail::data_of(values);
  auto* const to = detail::output_of(out);
  detail::require_moved<Values, Out>();
  detail::require_values(detail::length_of(values), lists.count);
  return upsweep::broadcast(policy, lists, static_cast<const void*>(from), sizeof(detail::ElementOf<Values>),
                            static_cast<void*>(to), detail::length_of(out));
}

/// Writes the position in the content of each element, for lists anywhere in `content` elements. The layout of the
/// output is given by lists.count + 1 offsets. Null lists are empty. Throws unequal_lengths if the length of a list
/// differs from its offsets; index() is the first such list. This is Awkward's "cannot broadcast nested list".
template <detail::AnyPolicy P = Policy>
std::int64_t broadcast_to_offsets(const P& policy, const Lists& lists, const std::int64_t* offsets,
                                  std::int64_t content, std::int64_t* positions, std::int64_t capacity) {
  return detail::run_broadcast_to_offsets(policy, lists, offsets, content, positions, capacity);
}
template <detail::InputArray Offsets, detail::PositionsOut Positions, detail::AnyPolicy P = Policy>
  requires std::same_as<detail::ElementOf<Offsets>, std::int64_t>
std::int64_t broadcast_to_offsets(const P& policy, const Lists& lists, const Offsets& offsets, std::int64_t content,
                                  Positions&& positions) {
  detail::require_memory_of<P, Offsets, Positions>();
  detail::require_offsets(std::ssize(offsets), lists.count);
  return upsweep::broadcast_to_offsets(policy, lists, std::ranges::data(offsets), content, std::ranges::data(positions),
                                       std::ssize(positions));
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kLengthsRules, First, Rest...>
auto lengths_to_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kLengthsRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kFlattenRules, First, Rest...>
auto flatten(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kFlattenRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kIndexRules<Rest...>, First, Rest...>
auto offsets_to_parents(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kIndexRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kParentsRules, First, Rest...>
auto parents_to_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kParentsRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kIndexRules<Rest...>, First, Rest...>
auto local_index(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kIndexRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kBroadcastRules, First, Rest...>
auto broadcast(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kBroadcastRules, First, Rest...>();
}
template <class First, class... Rest>
  requires(detail::Refused<detail::kIntegersOnly, First, Rest...> || (detail::AnyPolicy<First> &&
                                                                      !requires(const First& policy, Rest&&... rest) {
                                                                        upsweep::broadcast_to_offsets(
                                                                            policy, std::forward<Rest>(rest)...);
                                                                      }))
auto broadcast_to_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  if constexpr (detail::Refused<detail::kIntegersOnly, First, Rest...>) {
    detail::refuse<detail::kIntegersOnly, First, Rest...>();
  } else {
    static_assert(
        sizeof...(Rest) > detail::kAllArguments,
        "broadcast_to_offsets() takes (policy, lists, offsets, content, positions), where lists are an array of "
        "offsets, content is its number of elements, and offsets and positions are arrays of std::int64_t; or "
        "(policy, lists, offsets, content, positions, capacity) with pointers");
  }
}
/// @endcond

// ----------------------------------------------------------------------------------------------- on a GPU, not waiting
// `status`, in device memory, contains the outcome once the stream has finished the call.

namespace detail {

inline void run_conversion_async(const gpu::Policy& policy, ConversionCall call, gpu::PackStatus* status) {
  require_array(status, 1, "status");
  call.status = status;
  run_conversion(policy, call);
}

}  // namespace detail

template <ListBound T>
void lengths_to_offsets_async(const gpu::Policy& policy, const T* lengths, std::int64_t n, std::int64_t* offsets,
                              gpu::PackStatus* status, const Mask& valid = {}) {
  detail::run_conversion_async(policy, detail::lengths_call(type_of<T>(), lengths, n, valid, offsets), status);
}
inline void flatten_async(const gpu::Policy& policy, const Lists& outer, const Lists& inner, std::int64_t* offsets,
                          gpu::PackStatus* status) {
  detail::run_conversion_async(policy, detail::flatten_call(outer, inner, offsets), status);
}
inline void offsets_to_parents_async(const gpu::Policy& policy, const Lists& lists, std::int64_t* parents,
                                     std::int64_t capacity, gpu::PackStatus* status) {
  detail::run_broadcast_async(policy, detail::parents_call(lists, parents, capacity), status);
}
template <ListBound T>
void parents_to_offsets_async(const gpu::Policy& policy, const T* parents, std::int64_t elements, std::int64_t n,
                              std::int64_t* offsets, gpu::PackStatus* status) {
  detail::run_conversion_async(policy, detail::from_parents_call(type_of<T>(), parents, elements, n, offsets), status);
}
inline void local_index_async(const gpu::Policy& policy, const Lists& lists, std::int64_t* index, std::int64_t capacity,
                              gpu::PackStatus* status) {
  detail::run_broadcast_async(policy, detail::local_index_call(lists, index, capacity), status);
}
inline void broadcast_async(const gpu::Policy& policy, const Lists& lists, const void* values,
                            std::int64_t element_size, void* out, std::int64_t capacity, gpu::PackStatus* status) {
  detail::run_broadcast_async(policy, detail::broadcast_call(lists, values, element_size, out, capacity), status);
}
inline void broadcast_to_offsets_async(const gpu::Policy& policy, const Lists& lists, const std::int64_t* offsets,
                                       std::int64_t content, std::int64_t* positions, std::int64_t capacity,
                                       gpu::PackStatus* status) {
  detail::run_conversion_async(policy, detail::to_offsets_call(lists, offsets, content, positions, capacity), status);
}

namespace gpu {

/// Returns the size of a Workspace that is enough for each of these calls, for that number of lists and a capacity of
/// `elements`. For parents_to_offsets, pass the number of lists and the number of parents.
inline WorkspaceSize broadcast_workspace(const Policy& policy, std::int64_t lists, std::int64_t elements) {
  return upsweep::detail::broadcast_workspace(policy, lists, elements);
}

}  // namespace gpu
}  // namespace upsweep
