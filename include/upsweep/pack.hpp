// SPDX-License-Identifier: Apache-2.0
// upsweep/pack.hpp: lists that lie anywhere in their content, gathered one after the other.
//
//   offsets[0] = 0,  offsets[i+1] = offsets[i] + length of list i,
//   out[offsets[i] + j] = content[starts[i] + j]  for each element j of list i, in every column
//
// Lists     as lists.hpp has them: in any order, overlapping, with gaps, null ones (which are empty), of one size; or
//           ListViews, Arrow's list views: a start and a size each.
// Shapes    offsets holds n + 1. All columns have as many elements, and each output holds those of all lists.
// Types     offsets are int64. Elements of 1, 2, 4, 8 or 16 bytes are moved as bytes, whatever they are.
// Steps     pack() does it all where outputs are known to be large enough. Otherwise pack_offsets() says how large they
//           have to be, and pack_content() moves the content. Of starts and stops without nulls, offsets()
//           (offsets.hpp) writes the same offsets as pack_offsets(), but knows of no content that lists must lie in; nor does
//           pack() without columns.
// Nested    lists of lists are packed from the outside in: the content of the outer lists is the bounds of the inner ones, two
//           columns. What comes out are starts and stops of the inner lists in their new order, for the next pack():
//             pack(par, outer, outer_offsets, PackColumn(inner_starts, starts),
//                  PackColumn(inner_stops, stops));
//             pack(par, Lists(starts, stops), inner_offsets, PackColumn(content, packed));
//           Of inner offsets `o`, inner_starts are all but the last, inner_stops all but the first, both in place. A
//           validity of a byte per inner list is one column more.
// Errors    Error, with index() the first bad list: stop_before_start, negative_start, stop_past_end, overflow (the offsets
//           leave int64), and of pack_content() unequal_lengths (the offsets say another length). Without an index:
//           unequal_lengths (columns, or too little capacity for their outputs), invalid_argument, unknown_rung,
//           unsupported, out_of_memory. Outputs are unspecified then; nothing is written past their ends.
// In place  outputs must overlap neither inputs nor each other.
// GPU       pack and its two steps, with a gpu::Policy: see gpu.hpp. Arrays are device memory; lists and columns are host objects
//           that view it. Calls wait for the stream, as a bad list is an error; those in …_async do not.
// Source    Awkward Array's to_packed (compact_offsets, broadcast_tooffsets and a carry); Arrow's cast of list views to lists.
#pragma once

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

/// Arrow's list views: lists in any order, overlapping, by where each starts and how many elements it has. What a null
/// one's entries hold is not looked at, nor where an empty one starts.
struct ListViews {
  const void* starts = nullptr;
  const void* sizes = nullptr;
  Type type = Type::int64;  ///< of both
  std::int64_t count = 0;
  Mask valid = {};  ///< false where a list is null; not given: none is

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
  /// The same, some of them null.
  [[nodiscard]] ListViews with_validity(const Mask& mask) const {
    ListViews views = *this;
    views.valid = mask;
    return views;
  }
};

/// The result of pack and its steps.
struct PackResult {
  std::int64_t lists;
  std::int64_t total;     ///< elements in all lists: the last offset less the first
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
  call.lists.stops = views.sizes;  // an array as long, that no stop is read from
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
/// What it is: arrays of offsets are lists.
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

/// Offsets and content of the lists, or list views; offsets holds n + 1.
template <detail::ListsOrViews L, detail::AnyPolicy P = Policy>
PackResult pack(const P& policy, const L& lists, std::int64_t* offsets, std::span<const PackColumn> columns) {
  return detail::pack(policy, detail::pack_call(detail::lists_or_views(lists), offsets), columns);
}

/// The same with columns one by one.
template <detail::ListsOrViews L, std::same_as<PackColumn>... Columns, detail::AnyPolicy P = Policy>
PackResult pack(const P& policy, const L& lists, std::int64_t* offsets, const Columns&... columns) {
  const std::array<PackColumn, sizeof...(Columns)> array{columns...};
  return upsweep::pack(policy, lists, offsets, std::span<const PackColumn>(array));
}

/// `pack(par, Lists(starts, stops), offsets, PackColumn(pt, packed_pt), PackColumn(eta, packed_eta))`.
template <detail::ListsOrViews L, detail::OffsetsOut Offsets, std::same_as<PackColumn>... Columns,
          detail::AnyPolicy P = Policy>
PackResult pack(const P& policy, const L& lists, Offsets&& offsets, const Columns&... columns) {
  detail::require_memory_of<P, Offsets>();
  const auto given = detail::lists_or_views(lists);
  detail::require_offsets(std::ssize(offsets), given.count);
  return upsweep::pack(policy, given, std::ranges::data(offsets), columns...);
}

/// The first step: offsets alone, of lists in `content` elements; offsets holds n + 1.
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

/// The second: content alone, to where n + 1 offsets say. The first of them may have any value: outputs begin there.
template <detail::ListsOrViews L, detail::AnyPolicy P = Policy>
PackResult pack_content(const P& policy, const L& lists, const std::int64_t* offsets,
                        std::span<const PackColumn> columns) {
  // Read only, as they are given.
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

// ------------------------------------------------------------------------------------------------ on a GPU, not waiting

/// Does not wait: `status`, in device memory, says how it ended once the stream has come that far. Returns the rung.
template <detail::ListsOrViews L>
std::string_view pack_async(const gpu::Policy& policy, const L& lists, std::int64_t* offsets,
                            std::span<const PackColumn> columns, gpu::PackStatus* status) {
  detail::require_array(status, 1, "status");
  detail::PackCall call = detail::pack_call(detail::lists_or_views(lists), offsets);
  call.columns = columns;
  call.status = status;
  return detail::run_pack(policy, call);
}
/// The same of offsets alone, of lists in `content` elements.
template <detail::ListsOrViews L>
std::string_view pack_offsets_async(const gpu::Policy& policy, const L& lists, std::int64_t content,
                                    std::int64_t* offsets, gpu::PackStatus* status) {
  detail::require_array(status, 1, "status");
  detail::PackCall call = detail::pack_call(detail::lists_or_views(lists), offsets);
  call.content = content;
  call.status = status;
  return detail::run_pack(policy, call);
}
/// The same of content alone.
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

/// The device memory that such a pack, or a step of it, needs under that policy: for a Workspace. Without columns, that of
/// pack_offsets(). Arrays need not be there yet: pointers may be null.
template <upsweep::detail::ListsOrViews L>
WorkspaceSize pack_workspace(const Policy& policy, const L& lists, std::span<const PackColumn> columns) {
  upsweep::detail::PackCall call = upsweep::detail::pack_call(upsweep::detail::lists_or_views(lists), nullptr);
  call.columns = columns;
  return upsweep::detail::pack_workspace(policy, call);
}

}  // namespace gpu
}  // namespace upsweep
