// SPDX-License-Identifier: Apache-2.0
// upsweep/segmented_sort.hpp: sorts the elements of each list, or computes the positions that sort them.
//
// segmented_sort     out      ← each list's elements in order
// segmented_argsort  out[j]   ← the position in its list of the element that is sorted to j: 0 … the list's length - 1
//
// Order     ascending or descending. Equal elements keep their order in both. -0.0 and 0.0 are equal. NaN are last, or
//           first with `nan_first`, in both directions. All NaN are equal, and their bits are kept.
// Shapes    lists by offsets or of one size are written where they start, and `out` has the length of the content.
//           Elements of the output that belong to no list, or to a null list, are not written. Lists by starts and
//           stops are written one after the other from out[0] on, and `out` has the total number of their elements.
//           offsets() computes where each of these lists begins in `out`.
// Types     the ten of types.hpp, and bool. Positions are int64.
// In place  segmented_sort() of lists by offsets or of one size accepts the content as `out`. In all other calls `out`
//           and the content must not overlap.
// Memory    a thread that sorts a list of more than 64 elements needs temporary memory of twice the list's size. It
//           needs 4 words of 64 bits per element if positions are requested, or if the list contains NaN or -0.0. A
//           GPU needs the size of the content and one bit per element. For positions, a GPU needs twice that and 8
//           bytes per element. Lists by starts and stops need more on a GPU: 8 bytes per list, and for positions the
//           size of the elements once more; their number of elements is that of the output.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, except calls named …_async.
//           Lists by offsets must not overlap. Offsets that decrease at a null list could make lists overlap, so they
//           must not decrease. If a list is null, elements that belong to no list are unspecified. Lists by starts and
//           stops may be anywhere. If the output of a call that does not wait is too short for them, its status is the
//           code unequal_lengths without a list.
// Errors    Error, with index() the first bad list: stop_before_start, negative_start, stop_past_end. Lists are
//           checked before anything is written. Without a list: unequal_lengths (out is too short), invalid_argument,
//           unknown_rung, unsupported, out_of_memory. Only out_of_memory may leave a partly written output.
// Source    Awkward Array's kernels awkward_sort and awkward_argsort, which have NaN first.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

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

/// The result of a sort of lists.
struct SegmentedSort {
  std::int64_t elements;  ///< number of elements of all lists
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

/// An argument in the place of the options that is not SortOptions, such as std::greater<>.
template <class T>
concept NotSortOptions = std::is_class_v<T> && !std::is_convertible_v<T, SortOptions>;
template <class T>
auto refuse_comparison() {
  static_assert(!NotSortOptions<T>,
                "lists are sorted by the values of their elements, not by a function: pass SortOptions, such as "
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

/// Sorts the lists in `content`, which has n elements, into `out`, which has capacity for `capacity` elements.
template <Sortable T, detail::AnyPolicy P = Policy>
SegmentedSort segmented_sort(const P& policy, const Lists& lists, const T* content, std::int64_t n, T* out,
                             std::int64_t capacity, const SortOptions& options = {}) {
  detail::require_array(out, capacity, "output");
  return detail::segmented_sort(policy,
                                detail::segmented_sort_call(lists, content, n, out, nullptr, capacity, options));
}

/// Computes the positions, each within its list, that sort the lists in `content`.
template <Sortable T, detail::AnyPolicy P = Policy>
SegmentedSort segmented_argsort(const P& policy, const Lists& lists, const T* content, std::int64_t n,
                                std::int64_t* out, std::int64_t capacity, const SortOptions& options = {}) {
  detail::require_array(out, capacity, "positions");
  return detail::segmented_sort(policy,
                                detail::segmented_sort_call<T>(lists, content, n, nullptr, out, capacity, options));
}

/// Sorts the lists in a range (array, vector, span): `segmented_sort(par, offsets, content, sorted)`.
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

/// Computes the positions that sort the lists in a range (array, vector, span).
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

// ----------------------------------------------------------------------------------------------- on a GPU, not waiting

/// Sorts lists without waiting. `status`, in device memory, contains the outcome once the stream has finished the
/// call. Returns the rung.
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

/// Computes the positions that sort lists without waiting; `status` is as in segmented_sort_async(). Returns the rung.
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

/// Returns the size of the Workspace that segmented_sort() needs under the policy, for lists in n elements and an
/// output of `capacity` elements. Only the form of `lists` is used. The size is also enough for a smaller number of
/// lists.
template <Sortable T>
WorkspaceSize segmented_sort_workspace(const Policy& policy, const Lists& lists, std::int64_t n,
                                       std::int64_t capacity) {
  const auto call = upsweep::detail::segmented_sort_call<T>(lists, nullptr, n, nullptr, nullptr, capacity, {});
  return upsweep::detail::segmented_sort_workspace(policy, call);
}
/// Returns the size of the Workspace that segmented_argsort() needs under the policy, for lists in n elements and
/// `capacity` positions.
template <Sortable T>
WorkspaceSize segmented_argsort_workspace(const Policy& policy, const Lists& lists, std::int64_t n,
                                          std::int64_t capacity) {
  std::int64_t asked = 0;  // only whether the pointer is null matters
  const auto call = upsweep::detail::segmented_sort_call<T>(lists, nullptr, n, nullptr, &asked, capacity, {});
  return upsweep::detail::segmented_sort_workspace(policy, call);
}

/// Returns the size of the Workspace that segmented_sort() needs under the policy. The lists are
/// adjacent; there are `lists` of them, with up to n elements of type T together.
template <Sortable T>
WorkspaceSize segmented_sort_workspace(const Policy& policy, std::int64_t lists, std::int64_t n) {
  return segmented_sort_workspace<T>(policy, Lists::of_size(lists, 0), n, n);
}

/// Returns the size of the Workspace that segmented_argsort() needs under the policy. The lists are
/// adjacent; there are `lists` of them, with up to n elements of type T together.
template <Sortable T>
WorkspaceSize segmented_argsort_workspace(const Policy& policy, std::int64_t lists, std::int64_t n) {
  return segmented_argsort_workspace<T>(policy, Lists::of_size(lists, 0), n, n);
}

}  // namespace gpu
}  // namespace upsweep
