// SPDX-License-Identifier: Apache-2.0
// upsweep/combinations.hpp: writes the combinations of n elements of each list, and the cartesian products of lists.
//
// combinations   every choice of n elements from each list. A tuple is n positions in the content, in ascending order:
//                out[0][k] < out[1][k] < …; with replacement out[0][k] <= out[1][k] <= …
// cartesian      every choice of one element from each of several lists: list i of every array. out[d][k] is the
//                position of the chosen element in content d
// Tuples are in lexicographic order, list after list. The tuples of list i have the numbers offsets[i] … offsets[i + 1]
// - 1.
//
// Shapes    `offsets` has one element more than there are lists. `out` has n arrays (for cartesian: one per input),
//           each with capacity for all tuples. `combinations_offsets()` and cartesian_offsets() write only the offsets
//           and return the number of tuples. If `offsets` is null, combinations and cartesian write no offsets.
// Null      lists are empty: they have no tuples.
// Errors    Error, with index() the first bad list: stop_before_start, negative_start, stop_past_end, overflow (the
//           number of tuples of this list, or of all lists up to it, exceeds int64). A call checks all lists and counts
//           all tuples before it writes anything. Without a list: unequal_lengths (out is too short; the arrays of
//           cartesian have different numbers of lists), invalid_argument, unknown_rung, unsupported, out_of_memory.
// GPU       with a gpu::Policy: see gpu.hpp. Lists, offsets and positions are device memory. `inputs`, and the array of
//           pointers in `out`, are host memory; the call copies these pointers. Calls wait for the stream, because a
//           bad list is an error; calls named …_async do not wait. After an error of a call on a GPU, the offsets are
//           also unspecified.
// Source    Awkward Array's kernels awkward_ListArray_combinations and awkward_ListArray_combinations_length.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/combinations_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

/// The result of combinations and cartesian.
struct Combinations {
  std::int64_t total;     ///< number of tuples
  std::string_view rung;  ///< the id of the rung that ran
};

/// The lists of one array of a cartesian product, and the number of elements of its content.
using CartesianInput = detail::ListsOf;

namespace detail {

template <class R>
concept PositionArray = OutputArray<R> && std::same_as<ElementOf<R>, std::int64_t>;
/// An array of arrays of positions.
template <class R>
concept PositionArrays = std::ranges::random_access_range<R> && std::ranges::sized_range<R> &&
                         PositionArray<std::ranges::range_reference_t<R>>;

/// Returns the call of a combination or product. `inputs` must outlive the call.
inline CombinationsCall combinations_call(std::span<const ListsOf> inputs, std::int64_t n, bool is_cartesian,
                                          bool replacement, std::int64_t* offsets, std::int64_t* const* out,
                                          std::int64_t capacity) {
  CombinationsCall call;
  call.inputs = inputs;
  call.n = n;
  call.is_cartesian = is_cartesian;
  call.replacement = replacement;
  call.offsets = offsets;
  call.out = out;
  call.capacity = capacity;
  return call;
}
/// Runs the call on a CPU or a GPU, depending on the policy.
template <AnyPolicy P>
Combinations run_combinations(const P& policy, std::span<const ListsOf> inputs, std::int64_t n, bool is_cartesian,
                              bool replacement, std::int64_t* offsets, std::int64_t* const* out,
                              std::int64_t capacity) {
  CombinationsCall call = combinations_call(inputs, n, is_cartesian, replacement, offsets, out, capacity);
  const std::string_view rung = run_combinations(policy, call);
  return {call.total, rung};
}

/// Returns the pointers of several arrays, and sets `capacity` to the length of the shortest.
template <PositionArrays Arrays>
std::vector<std::int64_t*> pointers_to(Arrays&& arrays, std::int64_t& capacity) {
  std::vector<std::int64_t*> pointers;
  for (auto&& array : arrays) {
    capacity = pointers.empty() || std::ssize(array) < capacity ? std::ssize(array) : capacity;
    pointers.push_back(std::ranges::data(array));
  }
  return pointers;
}

}  // namespace detail

/// Computes the number of combinations of n elements of each list, as offsets.
template <detail::AnyPolicy P = Policy>
Combinations combinations_offsets(const P& policy, const Lists& lists, std::int64_t content, std::int64_t n,
                                  bool replacement, std::int64_t* offsets) {
  detail::require_array(offsets, 1, "offsets");
  const detail::ListsOf input{lists, content};
  return detail::run_combinations(policy, {&input, 1}, n, false, replacement, offsets, nullptr, 0);
}

/// Writes the combinations of n elements of each list: n arrays `out` of `capacity` elements. `offsets` may be null.
template <detail::AnyPolicy P = Policy>
Combinations combinations(const P& policy, const Lists& lists, std::int64_t content, std::int64_t n, bool replacement,
                          std::int64_t* offsets, std::int64_t* const* out, std::int64_t capacity) {
  detail::require_array(static_cast<const void*>(out), 1, "out");
  const detail::ListsOf input{lists, content};
  return detail::run_combinations(policy, {&input, 1}, n, false, replacement, offsets, out, capacity);
}

/// Computes the number of tuples of one element of each input, as offsets.
template <detail::AnyPolicy P = Policy>
Combinations cartesian_offsets(const P& policy, std::span<const CartesianInput> inputs, std::int64_t* offsets) {
  detail::require_array(offsets, 1, "offsets");
  return detail::run_combinations(policy, inputs, std::ssize(inputs), true, false, offsets, nullptr, 0);
}

/// Writes the tuples of one element of each input: one array in `out` per input, of `capacity` elements. `offsets` may
/// be null.
template <detail::AnyPolicy P = Policy>
Combinations cartesian(const P& policy, std::span<const CartesianInput> inputs, std::int64_t* offsets,
                       std::int64_t* const* out, std::int64_t capacity) {
  detail::require_array(static_cast<const void*>(out), 1, "out");
  return detail::run_combinations(policy, inputs, std::ssize(inputs), true, false, offsets, out, capacity);
}

// Overloads for vectors, spans and arrays of them:
// `combinations(par, offsets, size, false, tuple_offsets, left_and_right)`.

template <detail::PositionArray Offsets, detail::AnyPolicy P = Policy>
Combinations combinations_offsets(const P& policy, const Lists& lists, std::int64_t content, std::int64_t n,
                                  bool replacement, Offsets&& offsets) {
  detail::require_memory_of<P, Offsets>();
  detail::require_tuple_offsets(std::ssize(offsets), lists.count);
  return upsweep::combinations_offsets(policy, lists, content, n, replacement, std::ranges::data(offsets));
}

/// Writes the combinations of n elements of each list, where n is the number of arrays in `out`.
template <detail::PositionArray Offsets, detail::PositionArrays Out, detail::AnyPolicy P = Policy>
Combinations combinations(const P& policy, const Lists& lists, std::int64_t content, bool replacement,
                          Offsets&& offsets, Out&& out) {
  detail::require_memory_of<P, Offsets, std::ranges::range_value_t<Out>>();
  detail::require_tuple_offsets(std::ssize(offsets), lists.count);
  std::int64_t capacity = 0;
  const auto pointers = detail::pointers_to(out, capacity);
  return upsweep::combinations(policy, lists, content, std::ssize(pointers), replacement, std::ranges::data(offsets),
                               pointers.data(), capacity);
}

template <detail::PositionArray Offsets, detail::AnyPolicy P = Policy>
Combinations cartesian_offsets(const P& policy, std::initializer_list<CartesianInput> inputs, Offsets&& offsets) {
  detail::require_memory_of<P, Offsets>();
  if (inputs.size() > 0) detail::require_tuple_offsets(std::ssize(offsets), inputs.begin()->lists.count);
  return upsweep::cartesian_offsets(policy, std::span(inputs.begin(), inputs.size()), std::ranges::data(offsets));
}

template <detail::PositionArray Offsets, detail::PositionArrays Out, detail::AnyPolicy P = Policy>
Combinations cartesian(const P& policy, std::initializer_list<CartesianInput> inputs, Offsets&& offsets, Out&& out) {
  detail::require_memory_of<P, Offsets, std::ranges::range_value_t<Out>>();
  if (inputs.size() > 0) detail::require_tuple_offsets(std::ssize(offsets), inputs.begin()->lists.count);
  if (inputs.size() != std::size(out)) {
    throw Error(Code::unequal_lengths, "a cartesian product needs one array of positions per input");
  }
  std::int64_t capacity = 0;
  const auto pointers = detail::pointers_to(out, capacity);
  return upsweep::cartesian(policy, std::span(inputs.begin(), inputs.size()), std::ranges::data(offsets),
                            pointers.data(), capacity);
}

/// @cond
namespace detail {

/// Whether the arguments after inputs in braces are offsets and arrays of positions.
template <class... Rest>
inline constexpr bool kAreTupleArrays = false;
template <PositionArray Offsets, PositionArrays Out>
inline constexpr bool kAreTupleArrays<Offsets, Out> = true;
template <class... Rest>
concept TupleArrays = kAreTupleArrays<Rest...>;
template <class... Rest>
concept OffsetsArray = sizeof...(Rest) == 1 && (PositionArray<Rest> && ...);

/// A pointer in the place of the lists of an input, which is refused.
struct PointerForLists {
  template <class T>
  PointerForLists(const T* /*lists*/, std::int64_t /*content*/);  // NOLINT(google-explicit-constructor)
};
template <class... Rest>
auto refuse_cartesian() {
  static_assert(sizeof...(Rest) > kAllArguments,
                "cartesian() takes (policy, {{lists, content}, ...}, offsets, positions), where lists and offsets are "
                "arrays and positions an array of arrays of std::int64_t; or (policy, std::span(inputs), offsets, "
                "positions, capacity) with pointers");
}
template <class... Rest>
auto refuse_cartesian_offsets() {
  static_assert(
      sizeof...(Rest) > kAllArguments,
      "cartesian_offsets() takes (policy, {{lists, content}, ...}, offsets), where lists are arrays of offsets, "
      "and offsets are an array of std::int64_t; or (policy, std::span(inputs), offsets) with a pointer");
}

}  // namespace detail

// Calls that are refused, with the reason: also those that match no function.
template <class First, class... Rest>
  requires(detail::Refused<detail::kIntegersOnly, First, Rest...> || (detail::AnyPolicy<First> &&
                                                                      !requires(const First& policy, Rest&&... rest) {
                                                                        upsweep::combinations(
                                                                            policy, std::forward<Rest>(rest)...);
                                                                      }))
auto combinations(const First& /*first*/, Rest&&... /*rest*/) {
  if constexpr (detail::Refused<detail::kIntegersOnly, First, Rest...>) {
    detail::refuse<detail::kIntegersOnly, First, Rest...>();
  } else {
    static_assert(
        sizeof...(Rest) > detail::kAllArguments,
        "combinations() takes (policy, lists, content, replacement, offsets, positions), where offsets are an array "
        "of std::int64_t and positions an array of such arrays; or (policy, lists, content, n, replacement, "
        "offsets, positions, capacity) with pointers");
  }
}
template <class First, class... Rest>
  requires(detail::Refused<detail::kIntegersOnly, First, Rest...> || (detail::AnyPolicy<First> &&
                                                                      !requires(const First& policy, Rest&&... rest) {
                                                                        upsweep::combinations_offsets(
                                                                            policy, std::forward<Rest>(rest)...);
                                                                      }))
auto combinations_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  if constexpr (detail::Refused<detail::kIntegersOnly, First, Rest...>) {
    detail::refuse<detail::kIntegersOnly, First, Rest...>();
  } else {
    static_assert(
        sizeof...(Rest) > detail::kAllArguments,
        "combinations_offsets() takes (policy, lists, content, n, replacement, offsets), where lists are an array "
        "of offsets, content is its number of elements, and offsets are an array of std::int64_t or a pointer");
  }
}
template <class First, class... Rest>
  requires(detail::Refused<detail::kIntegersOnly, First, Rest...> || (detail::AnyPolicy<First> &&
                                                                      !requires(const First& policy, Rest&&... rest) {
                                                                        upsweep::cartesian(policy,
                                                                                           std::forward<Rest>(rest)...);
                                                                      }))
auto cartesian(const First& /*first*/, Rest&&... /*rest*/) {
  if constexpr (detail::Refused<detail::kIntegersOnly, First, Rest...>) {
    detail::refuse<detail::kIntegersOnly, First, Rest...>();
  } else {
    detail::refuse_cartesian<Rest...>();
  }
}
template <detail::AnyPolicy P = Policy, class... Rest>
  requires(!detail::TupleArrays<Rest...>)
auto cartesian(const P& /*policy*/, std::initializer_list<CartesianInput> /*inputs*/, Rest&&... /*rest*/) {
  return detail::refuse_cartesian<Rest...>();
}
template <detail::AnyPolicy P = Policy, std::size_t kInputs, class... Rest>
auto cartesian(const P& /*policy*/, const detail::PointerForLists (& /*inputs*/)[kInputs], Rest&&... /*rest*/) {
  return detail::refuse_cartesian<Rest...>();
}
template <class First, class... Rest>
  requires(detail::Refused<detail::kIntegersOnly, First, Rest...> || (detail::AnyPolicy<First> &&
                                                                      !requires(const First& policy, Rest&&... rest) {
                                                                        upsweep::cartesian_offsets(
                                                                            policy, std::forward<Rest>(rest)...);
                                                                      }))
auto cartesian_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  if constexpr (detail::Refused<detail::kIntegersOnly, First, Rest...>) {
    detail::refuse<detail::kIntegersOnly, First, Rest...>();
  } else {
    detail::refuse_cartesian_offsets<Rest...>();
  }
}
template <detail::AnyPolicy P = Policy, class... Rest>
  requires(!detail::OffsetsArray<Rest...>)
auto cartesian_offsets(const P& /*policy*/, std::initializer_list<CartesianInput> /*inputs*/, Rest&&... /*rest*/) {
  return detail::refuse_cartesian_offsets<Rest...>();
}
template <detail::AnyPolicy P = Policy, std::size_t kInputs, class... Rest>
auto cartesian_offsets(const P& /*policy*/, const detail::PointerForLists (& /*inputs*/)[kInputs], Rest&&... /*rest*/) {
  return detail::refuse_cartesian_offsets<Rest...>();
}
/// @endcond

// ----------------------------------------------------------------------------------------------- on a GPU, not waiting

/// Writes combinations without waiting. `status`, in device memory, contains the outcome once the stream has finished
/// the call. If `out` is null, only the offsets are written. Returns the rung.
inline std::string_view combinations_async(const gpu::Policy& policy, const Lists& lists, std::int64_t content,
                                           std::int64_t n, bool replacement, std::int64_t* offsets,
                                           std::int64_t* const* out, std::int64_t capacity,
                                           gpu::CombinationsStatus* status) {
  detail::require_array(status, 1, "status");
  const detail::ListsOf input{lists, content};
  auto call = detail::combinations_call({&input, 1}, n, false, replacement, offsets, out, capacity);
  call.status = status;
  return detail::run_combinations(policy, call);
}
inline std::string_view cartesian_async(const gpu::Policy& policy, std::span<const CartesianInput> inputs,
                                        std::int64_t* offsets, std::int64_t* const* out, std::int64_t capacity,
                                        gpu::CombinationsStatus* status) {
  detail::require_array(status, 1, "status");
  auto call = detail::combinations_call(inputs, std::ssize(inputs), true, false, offsets, out, capacity);
  call.status = status;
  return detail::run_combinations(policy, call);
}

namespace gpu {

/// Returns the size of the Workspace that combinations, or their offsets, need under the policy.
inline WorkspaceSize combinations_workspace(const Policy& policy, const Lists& lists, std::int64_t content,
                                            std::int64_t n, bool replacement, std::int64_t capacity) {
  const upsweep::detail::ListsOf input{lists, content};
  return upsweep::detail::combinations_workspace(
      policy, upsweep::detail::combinations_call({&input, 1}, n, false, replacement, nullptr, nullptr, capacity));
}
inline WorkspaceSize cartesian_workspace(const Policy& policy, std::span<const CartesianInput> inputs,
                                         std::int64_t capacity) {
  return upsweep::detail::combinations_workspace(
      policy, upsweep::detail::combinations_call(inputs, std::ssize(inputs), true, false, nullptr, nullptr, capacity));
}

}  // namespace gpu
}  // namespace upsweep
