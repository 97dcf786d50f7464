// SPDX-License-Identifier: Apache-2.0
// upsweep/pack.hpp: copies lists from anywhere in their content, one after the other.
//
//   offsets[0] = 0,  offsets[i+1] = offsets[i] + length of list i,
//   out[offsets[i] + j] = content[starts[i] + j]  for each element j of list i, in every column
//
// Lists     those of lists.hpp: in any order, overlapping, with gaps, null ones (which are empty), of one size. They
//           may also be ListViews, which are Arrow's list views: each has a start and a size.
// Shapes    `offsets` has n + 1 elements. All columns have the same length, and each output has capacity for the
//           elements of all lists.
// Types     offsets are int64. Elements of 1, 2, 4, 8 or 16 bytes are moved as bytes, whatever their type.
// Steps     pack() does everything in one call, if outputs are known to be large enough. Otherwise pack_offsets()
//           returns the size that the outputs need, and pack_content() moves the content. For starts and stops without
//           nulls, offsets() (offsets.hpp) writes the same offsets as pack_offsets(). But offsets() cannot check that
//           lists are within their content. A pack() without columns cannot check this either.
// Nested    lists of lists are packed from the outside in. The content of the outer lists is two columns: the bounds
//           of the inner lists. The results are starts and stops of the inner lists in their new order, and are the
//           input of the next pack().
//             pack(par, outer, outer_offsets, PackColumn(inner_starts, starts),
//                  PackColumn(inner_stops, stops));
//             pack(par, Lists(starts, stops), inner_offsets, PackColumn(content, packed));
//           If the inner lists have offsets `o`, pass `o` without its last element as inner_starts, and `o` without its
//           first element as inner_stops; neither is a copy. A validity of one byte per inner list is one more column.
// Errors    Error, with index() the first bad list: stop_before_start, negative_start, stop_past_end, overflow (the
//           offsets exceed int64), and in pack_content() unequal_lengths (the length differs from the offsets).
//           Without an index: unequal_lengths (columns, or too little capacity for their outputs), invalid_argument,
//           unknown_rung, unsupported, out_of_memory. After an error, outputs are unspecified; nothing is written past
//           their ends.
// In place  outputs must overlap neither inputs nor each other.
// GPU       pack and its two steps, with a gpu::Policy: see gpu.hpp. Arrays are device memory; lists and columns are
//           host objects that view device memory. Calls wait for the stream, because a bad list is an error. Calls
//           named …_async do not wait.
// Source    Awkward Array's to_packed (compact_offsets, broadcast_tooffsets and a carry); Arrow's cast of list views
//           to lists.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

/// Arrow's list views: each list has a start and a number of elements. Lists may be in any order and overlap. The
/// entries of a null list are not read, and the start of an empty list is not checked.
struct ListViews {
  const void* starts = nullptr;
  const void* sizes = nullptr;
  Type type = Type::int64;  ///< of both
  std::int64_t count = 0;
  Mask valid = {};  ///< false where a list is null; not given: no list is null

  constexpr ListViews() = default;
  template <std::ranges::range R, std::ranges::range S>
  ListViews(const R& each_start, const S& each_size)
      : ListViews(by_sizes(detail::bounds_of(each_start), detail::bounds_beside<R>(each_size),
                           detail::length_of(each_start))) {
    detail::require_values(detail::length_of(each_size), detail::length_of(each_start));
  }
  template <ListBound T>
  static ListViews by_sizes(const T* starts, const T* sizes, std::int64_t n) {
    ListViews views;
    views.starts = starts;
    views.sizes = sizes;
    views.type = type_of<T>();
    views.count = n;
    return views;
  }
  /// @cond
  template <class... T>
    requires detail::HasFloat<T...>
  static ListViews by_sizes(T... /*arguments*/) {
    detail::refuse_float<T...>();
    return {};
  }
  /// @endcond
  /// Returns these list views with a validity: lists are null where `mask` is false.
  [[nodiscard]] ListViews with_validity(const Mask& mask) const {
    ListViews views = *this;
    views.valid = mask;
    return views;
  }
};

/// The result of pack and its steps.
struct PackResult {
  std::int64_t lists;
  std::int64_t total;     ///< elements in all lists: the last offset minus the first
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

inline PackCall pack_call(const Lists& lists, std::int64_t* offsets) {
  PackCall call;
  call.lists = lists;
  call.offsets = offsets;
  return call;
}
inline PackCall pack_call(const ListViews& views, std::int64_t* offsets) {
  PackCall call;
  call.lists.starts = views.starts;
  call.lists.stops = views.sizes;  // an array of the same length; no stop is read from it
  call.lists.type = views.type;
  call.lists.count = views.count;
  call.lists.valid = views.valid;
  call.sizes = views.sizes;
  call.offsets = offsets;
  return call;
}

template <AnyPolicy P>
PackResult pack(const P& policy, PackCall call, std::span<const PackColumn> columns) {
  call.columns = columns;
  const std::string_view rung = run_pack(policy, call);
  return {call.lists.count, call.total, rung};
}

template <class L>
concept ListsOrViews = std::convertible_to<L, Lists> || std::same_as<L, ListViews>;
/// Returns list views unchanged, and converts arrays of offsets to lists.
template <ListsOrViews L>
auto lists_or_views(const L& lists) {
  if constexpr (std::same_as<L, ListViews>) {
    return lists;
  } else {
    return Lists(lists);
  }
}

template <class R>
concept OffsetsOut = OutputArray<R> && std::same_as<ElementOf<R>, std::int64_t>;
template <class R>
concept OffsetsIn = InputArray<R> && std::same_as<ElementOf<R>, std::int64_t>;

inline constexpr ArgumentRules kPackRules{.arrays = 1, .integers = true};

}  // namespace detail

/// Packs lists, or list views: writes their offsets and their content. `offsets` has n + 1 elements.
template <detail::ListsOrViews L, detail::AnyPolicy P = Policy>
PackResult pack(const P& policy, const L& lists, std::int64_t* offsets, std::span<const PackColumn> columns) {
  return detail::pack(policy, detail::pack_call(detail::lists_or_views(lists), offsets), columns);
}

/// Packs lists, or list views, with columns as arguments.
template <detail::ListsOrViews L, std::same_as<PackColumn>... Columns, detail::AnyPolicy P = Policy>
PackResult pack(const P& policy, const L& lists, std::int64_t* offsets, const Columns&... columns) {
  const std::array<PackColumn, sizeof...(Columns)> array{columns...};
  return upsweep::pack(policy, lists, offsets, std::span<const PackColumn>(array));
}

/// Packs lists or list views, and writes the new offsets to a range (array, vector, span):
/// `pack(par, Lists(starts, stops), offsets, PackColumn(pt, packed_pt), PackColumn(eta, packed_eta))`.
template <detail::ListsOrViews L, detail::OffsetsOut Offsets, std::same_as<PackColumn>... Columns,
          detail::AnyPolicy P = Policy>
PackResult pack(const P& policy, const L& lists, Offsets&& offsets, const Columns&... columns) {
  detail::require_memory_of<P, Offsets>();
  const auto given = detail::lists_or_views(lists);
  detail::require_offsets(std::ssize(offsets), given.count);
  return upsweep::pack(policy, given, std::ranges::data(offsets), columns...);
}

/// Writes the n + 1 offsets of n packed lists, the first step of pack(). `content` is the number of elements that the
/// lists select from.
template <detail::ListsOrViews L, detail::AnyPolicy P = Policy>
PackResult pack_offsets(const P& policy, const L& lists, std::int64_t content, std::int64_t* offsets) {
  detail::PackCall call = detail::pack_call(detail::lists_or_views(lists), offsets);
  call.content = content;
  return detail::pack(policy, call, {});
}
template <detail::ListsOrViews L, detail::OffsetsOut Offsets, detail::AnyPolicy P = Policy>
PackResult pack_offsets(const P& policy, const L& lists, std::int64_t content, Offsets&& offsets) {
  detail::require_memory_of<P, Offsets>();
  const auto given = detail::lists_or_views(lists);
  detail::require_offsets(std::ssize(offsets), given.count);
  return upsweep::pack_offsets(policy, given, content, std::ranges::data(offsets));
}

/// Moves the content of n lists to the n + 1 given offsets, the second step of pack(). List i is written from
/// element offsets[i] - offsets[0] on. The first offset may have any value.
template <detail::ListsOrViews L, detail::AnyPolicy P = Policy>
PackResult pack_content(const P& policy, const L& lists, const std::int64_t* offsets,
                        std::span<const PackColumn> columns) {
  // The offsets are only read, because they are given.
  detail::PackCall call = detail::pack_call(detail::lists_or_views(lists), const_cast<std::int64_t*>(offsets));
  call.offsets_given = true;
  return detail::pack(policy, call, columns);
}
template <detail::ListsOrViews L, detail::OffsetsIn Offsets, std::same_as<PackColumn>... Columns,
          detail::AnyPolicy P = Policy>
PackResult pack_content(const P& policy, const L& lists, const Offsets& offsets, const Columns&... columns) {
  detail::require_memory_of<P, Offsets>();
  const auto given = detail::lists_or_views(lists);
  detail::require_offsets(std::ssize(offsets), given.count);
  const std::array<PackColumn, sizeof...(Columns)> array{columns...};
  return upsweep::pack_content(policy, given, std::ranges::data(offsets), array);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kPackRules, First, Rest...>
auto pack(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kPackRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kPackRules, First, Rest...>
auto pack_offsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kPackRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kPackRules, First, Rest...>
auto pack_content(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kPackRules, First, Rest...>();
}
/// @endcond

// ----------------------------------------------------------------------------------------------- on a GPU, not waiting

/// Packs lists without waiting. `status`, in device memory, contains the outcome once the stream has finished the
/// call. Returns the rung.
template <detail::ListsOrViews L>
std::string_view pack_async(const gpu::Policy& policy, const L& lists, std::int64_t* offsets,
                            std::span<const PackColumn> columns, gpu::PackStatus* status) {
  detail::require_array(status, 1, "status");
  detail::PackCall call = detail::pack_call(detail::lists_or_views(lists), offsets);
  call.columns = columns;
  call.status = status;
  return detail::run_pack(policy, call);
}
/// Writes only the offsets of packed lists in `content` elements, without waiting. Returns the rung.
template <detail::ListsOrViews L>
std::string_view pack_offsets_async(const gpu::Policy& policy, const L& lists, std::int64_t content,
                                    std::int64_t* offsets, gpu::PackStatus* status) {
  detail::require_array(status, 1, "status");
  detail::PackCall call = detail::pack_call(detail::lists_or_views(lists), offsets);
  call.content = content;
  call.status = status;
  return detail::run_pack(policy, call);
}
/// Moves only the content to given offsets, without waiting. Returns the rung.
template <detail::ListsOrViews L>
std::string_view pack_content_async(const gpu::Policy& policy, const L& lists, const std::int64_t* offsets,
                                    std::span<const PackColumn> columns, gpu::PackStatus* status) {
  detail::require_array(status, 1, "status");
  detail::PackCall call = detail::pack_call(detail::lists_or_views(lists), const_cast<std::int64_t*>(offsets));
  call.offsets_given = true;
  call.columns = columns;
  call.status = status;
  return detail::run_pack(policy, call);
}

namespace gpu {

/// Returns the size of the Workspace that pack(), or one of its steps, needs under the policy. Without columns, it is
/// the size for pack_offsets(). Arrays need not exist yet: pointers may be null.
template <upsweep::detail::ListsOrViews L>
WorkspaceSize pack_workspace(const Policy& policy, const L& lists, std::span<const PackColumn> columns) {
  upsweep::detail::PackCall call = upsweep::detail::pack_call(upsweep::detail::lists_or_views(lists), nullptr);
  call.columns = columns;
  return upsweep::detail::pack_workspace(policy, call);
}

}  // namespace gpu
}  // namespace upsweep
