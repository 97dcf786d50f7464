// SPDX-License-Identifier: Apache-2.0
// upsweep/segmented_sort.hpp: the elements of every list in order, or the positions that put them in order.
//
// segmented_sort     out      ← each list's elements in order
// segmented_argsort  out[j]   ← the position in its list of the element that comes at j: 0 … the list's length - 1
//
// Order     ascending or descending; in both equal elements keep their order. -0.0 and 0.0 are equal. NaN come last, or first with
//           `nan_first`, whichever the direction, and are equal among themselves; their bits are kept.
// Shapes    `out` lies parallel to the content where lists lie one after the other (by offsets, or of one size): list i goes where
//           it starts, and out holds as many elements as the content. Elements of the output that belong to no list, or to a null
//           one, stay as they are. Lists by starts and stops go one after the other from out[0] on: out holds as many
//           elements as all of them together, and offsets() says where each begins.
// Types     the ten of types.hpp, and bool. Positions are int64.
// In place  segmented_sort() of lists one after the other may have `out` be the content. Else they do not overlap.
// Memory    lists of more than 64 elements need memory: twice their own, for as many lists as there are threads; 4
//           words of 64 bits for each element where positions are asked for, or where there are NaN or -0.0 in them. On
//           a GPU as much as the content and a bit per element; for positions twice that and 8 bytes per element. There
//           lists by starts and stops need 8 bytes each, and what the others need for as many elements as the output
//           holds; for positions the elements again.
// GPU       the same with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, except those in …_async.
//           Lists by offsets must not overlap, which those that go back where a list is null could make them do; where a
//           list is null, elements that belong to no list are unspecified. Lists by starts and stops may lie anywhere. Of a
//           call that does not wait, an output that is too short for these is the code unequal_lengths of no list.
// Errors    Error, with index() the first bad list: stop_before_start, negative_start, stop_past_end. Lists are checked before
//           anything is written. unequal_lengths (out is too short), invalid_argument, unknown_rung, unsupported, out_of_memory:
//           about no list; only after the last one may something have been written.
// Source    Awkward Array's kernels awkward_sort and awkward_argsort, which have NaN first.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/segmented_sort_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

struct SortOptions {
  bool descending = false;
  bool nan_first = false;
};

/// The result of a sort per list.
struct SegmentedSort {
  std::int64_t elements;  ///< of all lists
  std::string_view rung;  ///< the id of the rung that ran
};

template <class T>
concept Sortable = std::same_as<T, bool> || type_of<T>() != Type::custom;

namespace detail {

template <class T>
constexpr bool require_sortable() {
  static_assert(Sortable<T>, "elements that are sorted must be of a type of upsweep/types.hpp, or bool");
  return Sortable<T>;
}

/// What stands where a sort takes its options and is none, such as std::greater<>.
template <class T>
concept NotSortOptions = std::is_class_v<T> && !std::is_convertible_v<T, SortOptions>;
template <class T>
auto refuse_comparison() {
  static_assert(!NotSortOptions<T>,
                "lists are sorted in the order of their numbers, by no function: pass SortOptions, such as "
                "upsweep::SortOptions{.descending = true}");
}

template <Sortable T>
SegmentedSortCall segmented_sort_call(const Lists& lists, const T* content, std::int64_t n, T* out,
                                      std::int64_t* positions, std::int64_t capacity, const SortOptions& options) {
  SegmentedSortCall call;
  call.lists = lists;
  call.content = content;
  call.n = n;
  call.type = std::same_as<T, bool> ? Type::uint8 : type_of<T>();
  call.descending = options.descending;
  call.nan_first = options.nan_first;
  call.out = out;
  call.positions = positions;
  call.capacity = capacity;
  return call;
}

template <AnyPolicy P>
SegmentedSort segmented_sort(const P& policy, SegmentedSortCall call) {
  const std::string_view rung = run_segmented_sort(policy, call);
  return {call.elements, rung};
}

inline constexpr ArgumentRules kSortRules{.arrays = 1, .alike = 3, .integers = true};

}  // namespace detail

/// Sorts the lists in `content`, which has n elements, into `out`, which holds up to `capacity`.
template <Sortable T, detail::AnyPolicy P = Policy>
SegmentedSort segmented_sort(const P& policy, const Lists& lists, const T* content, std::int64_t n, T* out,
                             std::int64_t capacity, const SortOptions& options = {}) {
  detail::require_array(out, capacity, "output");
  return detail::segmented_sort(policy,
                                detail::segmented_sort_call(lists, content, n, out, nullptr, capacity, options));
}

/// The positions, each in its list, of the elements in order.
template <Sortable T, detail::AnyPolicy P = Policy>
SegmentedSort segmented_argsort(const P& policy, const Lists& lists, const T* content, std::int64_t n,
                                std::int64_t* out, std::int64_t capacity, const SortOptions& options = {}) {
  detail::require_array(out, capacity, "positions");
  return detail::segmented_sort(policy,
                                detail::segmented_sort_call<T>(lists, content, n, nullptr, out, capacity, options));
}

/// The same with arrays, vectors, spans: `segmented_sort(par, offsets, content, sorted)`.
template <detail::ArrayArgument Content, detail::ArrayArgument Out, detail::AnyPolicy P = Policy>
SegmentedSort segmented_sort(const P& policy, const Lists& lists, const Content& content, Out&& out,
                             const SortOptions& options = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  static_assert(std::same_as<detail::ElementOf<Out>, detail::ElementOf<Content>>,
                "elements are sorted into an array of their type");
  if constexpr (detail::require_sortable<detail::ElementOf<Content>>()) {
    return upsweep::segmented_sort(policy, lists, from, detail::length_of(content), to, detail::length_of(out),
                                   options);
  } else {
    return {};
  }
}

template <detail::ArrayArgument Content, detail::ArrayArgument Out, detail::AnyPolicy P = Policy>
SegmentedSort segmented_argsort(const P& policy, const Lists& lists, const Content& content, Out&& out,
                                const SortOptions& options = {}) {
  detail::require_memory_of<P, Content, Out>();
  const auto* const from = detail::data_of(content);
  auto* const to = detail::output_of(out);
  static_assert(std::same_as<detail::ElementOf<Out>, std::int64_t>, "positions are of std::int64_t");
  if constexpr (detail::require_sortable<detail::ElementOf<Content>>()) {
    return upsweep::segmented_argsort(policy, lists, from, detail::length_of(content), to, detail::length_of(out),
                                      options);
  } else {
    return {};
  }
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kSortRules, First, Rest...>
auto segmented_sort(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kSortRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kSortRules, First, Rest...>
auto segmented_argsort(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kSortRules, First, Rest...>();
}
template <detail::AnyPolicy P, detail::InputArray Content, detail::InputArray Out, detail::NotSortOptions Order>
auto segmented_sort(const P& /*policy*/, const Lists& /*lists*/, const Content& /*content*/, const Out& /*out*/,
                    const Order& /*order*/) {
  return detail::refuse_comparison<Order>();
}
template <detail::AnyPolicy P, detail::InputArray Content, detail::InputArray Out, detail::NotSortOptions Order>
auto segmented_argsort(const P& /*policy*/, const Lists& /*lists*/, const Content& /*content*/, const Out& /*out*/,
                       const Order& /*order*/) {
  return detail::refuse_comparison<Order>();
}
/// @endcond

// ------------------------------------------------------------------------------------------------ on a GPU, not waiting

/// Does not wait: `status`, in device memory, says how it ended once the stream has come that far. Returns the rung.
template <Sortable T>
std::string_view segmented_sort_async(const gpu::Policy& policy, const Lists& lists, const T* content, std::int64_t n,
                                      T* out, std::int64_t capacity, gpu::ListsStatus* status,
                                      const SortOptions& options = {}) {
  detail::require_array(out, capacity, "output");
  detail::require_array(status, 1, "status");
  auto call = detail::segmented_sort_call(lists, content, n, out, nullptr, capacity, options);
  call.status = status;
  return detail::run_segmented_sort(policy, call);
}

/// The same of the positions.
template <Sortable T>
std::string_view segmented_argsort_async(const gpu::Policy& policy, const Lists& lists, const T* content,
                                         std::int64_t n, std::int64_t* out, std::int64_t capacity,
                                         gpu::ListsStatus* status, const SortOptions& options = {}) {
  detail::require_array(out, capacity, "positions");
  detail::require_array(status, 1, "status");
  auto call = detail::segmented_sort_call<T>(lists, content, n, nullptr, out, capacity, options);
  call.status = status;
  return detail::run_segmented_sort(policy, call);
}

namespace gpu {

/// The device memory that sorts of such lists in n elements into an output with that capacity need under that policy:
/// for a Workspace. Of `lists` only what they are is looked at; fewer need no more.
template <Sortable T>
WorkspaceSize segmented_sort_workspace(const Policy& policy, const Lists& lists, std::int64_t n,
                                       std::int64_t capacity) {
  const auto call = upsweep::detail::segmented_sort_call<T>(lists, nullptr, n, nullptr, nullptr, capacity, {});
  return upsweep::detail::segmented_sort_workspace(policy, call);
}
/// The same of sorts that give positions.
template <Sortable T>
WorkspaceSize segmented_argsort_workspace(const Policy& policy, const Lists& lists, std::int64_t n,
                                          std::int64_t capacity) {
  std::int64_t asked = 0;  // that there are some is all that matters
  const auto call = upsweep::detail::segmented_sort_call<T>(lists, nullptr, n, nullptr, &asked, capacity, {});
  return upsweep::detail::segmented_sort_workspace(policy, call);
}

/// The device memory that sorts of up to n elements of type T in so many lists, one after the other, need under that policy: for a Workspace.
template <Sortable T>
WorkspaceSize segmented_sort_workspace(const Policy& policy, std::int64_t lists, std::int64_t n) {
  return segmented_sort_workspace<T>(policy, Lists::of_size(lists, 0), n, n);
}

/// The same of sorts that give positions.
template <Sortable T>
WorkspaceSize segmented_argsort_workspace(const Policy& policy, std::int64_t lists, std::int64_t n) {
  return segmented_argsort_workspace<T>(policy, Lists::of_size(lists, 0), n, n);
}

}  // namespace gpu
}  // namespace upsweep
