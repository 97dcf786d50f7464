// SPDX-License-Identifier: Apache-2.0
// upsweep/select.hpp: elements that are kept: by a mask or by indices, of arrays and of lists.
//
// select     keeps, in order, the elements of the content whose mask is true, of each list: new offsets, and columns of
//            content compacted. Without lists it is plain compaction. With offsets o, mask m and content c:
//              out_offsets[0] = 0,  out_offsets[i+1] = out_offsets[i] + |{j : o[i] <= j < o[i+1], m[j]}|
//              out = c[j] of those j, list after list
// count_kept how many elements select keeps.
// partition  those that select keeps, then the others, both in order.
// take       elements by their positions: out[k] = content[indices[k]]; of lists, out is content[start[i] + indices[k]]
//            for the indices k of list i. A negative index counts from the end of the array, or of the list.
//
// Shapes    the mask has one boolean for each element of the content, whether or not a list has that element: mask[j] is
//           content[j]'s, whatever the first offset. All columns have that length. out_offsets holds n + 1 for n lists.
// Memory    outputs are the caller's. Those of select must hold the elements that it keeps, which count_kept() says;
//           there are never more than the lists have elements. Offsets alone (no columns) are a selection too, and
//           return that count. partition and take fill their outputs: as many elements as the content, or the indices,
//           have. Nothing is written past their capacity. select and partition take memory of their own: a sixth of a
//           byte per element of the content, on a GPU a fifth, and where lists lie anywhere 8 bytes for each list.
// Columns   several at once, of different sizes: SelectColumn. Elements of 1, 2, 4, 8 or 16 bytes are moved as they are.
// Lists     see lists.hpp. Null lists select and take nothing. Lists may overlap and lie in any order.
// Results   the same for any rung, thread count, alignment and instruction set.
// Errors    Error, with index(): stop_before_start, negative_start, stop_past_end (the first bad list), index_out_of_range
//           (the position of the first bad index). unequal_lengths: a mask, column or array of lists of another length
//           than the content has, or an output that has too little capacity. Then outputs are unspecified.
//           invalid_argument, unsupported_type, unknown_rung, unsupported and out_of_memory write nothing.
// Rungs     select and count_kept run the ladder of that name, partition and take those of theirs.
// In place  outputs must not overlap inputs, nor each other.
// GPU       the same with a gpu::Policy: see gpu.hpp. Arrays are device memory; lists, masks and columns are host objects that
//           view it. Calls wait for the stream, except those in …_async. A bad index is reported without the length of its list.
// Source    Awkward Array's jagged masks and its kernel awkward_ListArray_getitem_jagged_apply; stream compaction.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/offsets_call.hpp"
#include "upsweep/detail/partition_call.hpp"
#include "upsweep/detail/result.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/select_call.hpp"
#include "upsweep/detail/take_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

/// How many elements are kept, and the rung that ran. Converts to the count.
struct Selected {
  std::int64_t kept = 0;
  std::string_view rung;

  constexpr Selected() = default;
  constexpr Selected(std::int64_t answer, std::string_view id) : kept(answer), rung(id) {}
  constexpr operator std::int64_t() const { return kept; }  // NOLINT(google-explicit-constructor): it is the answer

 private:
  template <detail::OtherNumber<std::int64_t> U>
  Selected(U);  // NOLINT(google-explicit-constructor): never defined, see OtherNumber
};

namespace detail {

template <class T>
concept IsSelectColumn = std::same_as<T, SelectColumn>;

/// Whether there are columns in an array or one by one. Offsets may be given by a pointer then.
template <class... T>
concept GivesColumns =
    ((std::convertible_to<T, std::span<const SelectColumn>> || IsSelectColumn<std::remove_cvref_t<T>>) || ...);

template <class R>
concept OffsetsOutput = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                        std::same_as<std::ranges::range_reference_t<R>, std::int64_t&>;

template <AnyPolicy P>
Selected select(const P& policy, SelectCall& call) {
  const std::string_view rung = run_select(policy, call);
  return {call.kept, rung};
}

/// Of lists, without what is to be written besides their offsets.
inline TakeCall take_call(const Lists& lists, std::int64_t content, const Lists& index_lists, const Indices& indices,
                          std::int64_t* out_offsets) {
  require_array(out_offsets, index_lists.count + 1, "out_offsets");
  return {.has_lists = true,
          .lists = lists,
          .index_lists = index_lists,
          .indices = indices,
          .content = content,
          .out_offsets = out_offsets};
}
inline void set_positions(TakeCall& call, std::int64_t* positions, std::int64_t capacity) {
  require_array(positions, capacity, "positions");
  call.positions = positions;
  call.capacity = capacity;
}

template <AnyPolicy P, class Out>
std::int64_t* offsets_output(Out&& offsets, std::int64_t lists) {
  require_memory_of<P, Out>();
  require_offsets(std::ssize(offsets), lists);
  return std::ranges::data(offsets);
}

template <AnyPolicy P, class Content, class Out>
SelectColumn column_of(const Content& content, Out&& out) {
  require_memory_of<P, Content, Out>();
  return SelectColumn(content, out);
}

/// Whether a call asks for the offsets of lists only: (lists, mask, pointer).
template <class... T>
inline constexpr bool kOffsetsOnly = false;
template <class Of, class Kept, class Out>
inline constexpr bool kOffsetsOnly<Of, Kept, Out> =
    std::is_convertible_v<Kept, Mask> && std::is_same_v<std::remove_cvref_t<Out>, std::int64_t*>;

/// Where a selection has its mask: (mask, content, out) or (lists, mask, out_offsets, content, out).
template <class... T>
inline constexpr int kMaskOfSelect = sizeof...(T) == 5 ? 1 : -1;
template <class First, class Second, class Third>
inline constexpr int kMaskOfSelect<First, Second, Third> = std::is_convertible_v<Second, Mask> ? -1 : 0;

template <class... Rest>
inline constexpr ArgumentRules kSelectRules{
    .arrays = GivesColumns<Rest...> || kOffsetsOnly<Rest...> ? 2 : kAllArguments,
    .integers = true,
    .mask = kMaskOfSelect<Rest...>};
template <class... Rest>
inline constexpr ArgumentRules kCountKeptRules{
    .arrays = kAllArguments, .integers = true, .mask = int{sizeof...(Rest)} - 1};
inline constexpr ArgumentRules kPartitionRules{.arrays = kAllArguments, .integers = true, .mask = 0};
template <class... Rest>
inline constexpr ArgumentRules kTakeRules{.arrays = GivesColumns<Rest...> ? 4 : kAllArguments, .integers = true};

}  // namespace detail

// -------------------------------------------------------------------------------------------------------------- select

/// Elements of lists. `out_offsets`: lists.count + 1.
template <detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Lists& lists, const Mask& mask, std::int64_t* out_offsets,
                std::span<const SelectColumn> columns) {
  detail::require_array(out_offsets, lists.count + 1, "out_offsets");
  detail::SelectCall call{
      .has_lists = true, .lists = lists, .mask = mask, .out_offsets = out_offsets, .columns = columns};
  return detail::select(policy, call);
}
/// The same with columns one by one: `select(par, offsets, mask, out_offsets, SelectColumn(pt, out_pt), …)`.
template <detail::IsSelectColumn... Column, detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Lists& lists, const Mask& mask, std::int64_t* out_offsets,
                const Column&... columns) {
  const std::array<SelectColumn, sizeof...(Column)> array{columns...};
  return upsweep::select(policy, lists, mask, out_offsets, std::span<const SelectColumn>(array));
}
template <detail::OffsetsOutput Offsets, detail::IsSelectColumn... Column, detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Lists& lists, const Mask& mask, Offsets&& out_offsets,
                const Column&... columns) {
  return upsweep::select(policy, lists, mask, detail::offsets_output<P>(out_offsets, lists.count), columns...);
}

/// The same of one column: `select(par, offsets, mask, out_offsets, pt, out_pt)`.
template <detail::OffsetsOutput Offsets, std::ranges::range Content, std::ranges::range Out,
          detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Lists& lists, const Mask& mask, Offsets&& out_offsets, const Content& content,
                Out&& out) {
  return upsweep::select(policy, lists, mask, out_offsets, detail::column_of<P>(content, out));
}

/// Elements of an array: compaction.
template <detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Mask& mask, std::span<const SelectColumn> columns) {
  detail::SelectCall call{.mask = mask, .columns = columns};
  return detail::select(policy, call);
}
template <detail::IsSelectColumn... Column, detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Mask& mask, const Column&... columns) {
  const std::array<SelectColumn, sizeof...(Column)> array{columns...};
  return upsweep::select(policy, mask, std::span<const SelectColumn>(array));
}
/// The same of one column: `select(par, mask, pt, out_pt)`.
template <std::ranges::range Content, std::ranges::range Out, detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Mask& mask, const Content& content, Out&& out) {
  return upsweep::select(policy, mask, detail::column_of<P>(content, out));
}

// ---------------------------------------------------------------------------------------------------------- count_kept

/// How many elements of the lists a selection keeps. Lists are checked.
template <detail::AnyPolicy P = Policy>
Selected count_kept(const P& policy, const Lists& lists, const Mask& mask) {
  detail::SelectCall call{.has_lists = true, .lists = lists, .mask = mask};
  return detail::select(policy, call);
}

/// How many booleans are true.
template <detail::AnyPolicy P = Policy>
Selected count_kept(const P& policy, const Mask& mask) {
  detail::SelectCall call{.mask = mask};
  return detail::select(policy, call);
}

// ----------------------------------------------------------------------------------------------------------- partition

/// Elements whose mask is true, then the others; returns how many the former are. Outputs have capacity for all.
template <detail::AnyPolicy P = Policy>
std::int64_t partition(const P& policy, const Mask& mask, std::span<const SelectColumn> columns) {
  detail::PartitionCall call{.mask = mask, .columns = columns};
  detail::run_partition(policy, call);
  return call.kept;
}
template <detail::IsSelectColumn... Column, detail::AnyPolicy P = Policy>
std::int64_t partition(const P& policy, const Mask& mask, const Column&... columns) {
  const std::array<SelectColumn, sizeof...(Column)> array{columns...};
  return upsweep::partition(policy, mask, std::span<const SelectColumn>(array));
}
/// The same of one column.
template <std::ranges::range Content, std::ranges::range Out, detail::AnyPolicy P = Policy>
std::int64_t partition(const P& policy, const Mask& mask, const Content& content, Out&& out) {
  return upsweep::partition(policy, mask, detail::column_of<P>(content, out));
}

// ---------------------------------------------------------------------------------------------------------------- take

/// Elements of an array by their positions, into outputs with capacity for an element per index.
template <detail::AnyPolicy P = Policy>
void take(const P& policy, const Indices& indices, std::span<const SelectColumn> columns) {
  detail::TakeCall call{.indices = indices, .columns = columns};
  detail::run_take(policy, call);
}
template <detail::IsSelectColumn... Column, detail::AnyPolicy P = Policy>
void take(const P& policy, const Indices& indices, const Column&... columns) {
  const std::array<SelectColumn, sizeof...(Column)> array{columns...};
  upsweep::take(policy, indices, std::span<const SelectColumn>(array));
}
/// The same of one column, as NumPy has it: `take(par, content, indices, out)`.
template <std::ranges::range Content, std::ranges::range At, std::ranges::range Out, detail::AnyPolicy P = Policy>
void take(const P& policy, const Content& content, const At& indices, Out&& out) {
  detail::require_memory_of<P, At>();
  upsweep::take(policy, Indices(indices), detail::column_of<P>(content, out));
}

/// Elements of lists by their positions in these: list i gives those that the indices of list i of `index_lists` name.
/// `content` is the length of the lists' array, `out_offsets` has lists.count + 1. Returns how many elements are taken. Lists
/// of indices and lists are checked in turn, list by list, each before its indices, as Awkward Array does; a list without
/// indices is not looked at.
template <detail::AnyPolicy P = Policy>
std::int64_t take(const P& policy, const Lists& lists, std::int64_t content, const Lists& index_lists,
                  const Indices& indices, std::int64_t* out_offsets, std::span<const SelectColumn> columns) {
  auto call = detail::take_call(lists, content, index_lists, indices, out_offsets);
  call.columns = columns;
  detail::run_take(policy, call);
  return call.taken;
}
/// The same of one column: `take(par, offsets, pt, index_offsets, indices, out_offsets, out_pt)`.
template <std::ranges::range Content, detail::OffsetsOutput Offsets, std::ranges::range Out,
          detail::AnyPolicy P = Policy>
std::int64_t take(const P& policy, const Lists& lists, const Content& content, const Lists& index_lists,
                  const Indices& indices, Offsets&& out_offsets, Out&& out) {
  const SelectColumn column = detail::column_of<P>(content, out);
  return upsweep::take(policy, lists, std::ssize(content), index_lists, indices,
                       detail::offsets_output<P>(out_offsets, index_lists.count), std::span(&column, 1));
}

/// Where in the content the same elements lie: for columns that are taken later, by plain take(). `capacity` positions
/// fit.
template <detail::AnyPolicy P = Policy>
std::int64_t take_positions(const P& policy, const Lists& lists, std::int64_t content, const Lists& index_lists,
                            const Indices& indices, std::int64_t* out_offsets, std::int64_t* positions,
                            std::int64_t capacity) {
  auto call = detail::take_call(lists, content, index_lists, indices, out_offsets);
  detail::set_positions(call, positions, capacity);
  detail::run_take(policy, call);
  return call.taken;
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kSelectRules<Rest...>, First, Rest...>
auto select(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kSelectRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kCountKeptRules<Rest...>, First, Rest...>
auto count_kept(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kCountKeptRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kPartitionRules, First, Rest...>
auto partition(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kPartitionRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kTakeRules<Rest...>, First, Rest...>
auto take(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kTakeRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires(detail::Refused<detail::kIntegersOnly, First, Rest...> || (detail::AnyPolicy<First> &&
                                                                      !requires(const First& policy, Rest&&... rest) {
                                                                        upsweep::take_positions(
                                                                            policy, std::forward<Rest>(rest)...);
                                                                      }))
auto take_positions(const First& /*first*/, Rest&&... /*rest*/) {
  if constexpr (detail::Refused<detail::kIntegersOnly, First, Rest...>) {
    detail::refuse<detail::kIntegersOnly, First, Rest...>();
  } else {
    static_assert(
        sizeof...(Rest) > detail::kAllArguments,
        "take_positions() takes (policy, lists, content, index_lists, indices, out_offsets, positions, capacity), "
        "where "
        "lists and index_lists are arrays of offsets, content and capacity numbers of elements, and out_offsets and "
        "positions pointers to std::int64_t");
  }
}
/// @endcond

// ------------------------------------------------------------------------------------------------ on a GPU, not waiting
// `status`, in device memory, says how a call ended once the stream has come that far.

/// Selects from lists. Returns the rung.
inline std::string_view select_async(const gpu::Policy& policy, const Lists& lists, const Mask& mask,
                                     std::int64_t* out_offsets, std::span<const SelectColumn> columns,
                                     gpu::SelectStatus* status) {
  detail::require_array(out_offsets, lists.count + 1, "out_offsets");
  detail::require_array(status, 1, "status");
  detail::SelectCall call{.has_lists = true,
                          .lists = lists,
                          .mask = mask,
                          .out_offsets = out_offsets,
                          .columns = columns,
                          .status = status};
  return detail::run_select(policy, call);
}
/// Selects from an array. Returns the rung.
inline std::string_view select_async(const gpu::Policy& policy, const Mask& mask, std::span<const SelectColumn> columns,
                                     gpu::SelectStatus* status) {
  detail::require_array(status, 1, "status");
  detail::SelectCall call{.mask = mask, .columns = columns, .status = status};
  return detail::run_select(policy, call);
}

/// Partitions an array. `status` says how many elements come first.
inline void partition_async(const gpu::Policy& policy, const Mask& mask, std::span<const SelectColumn> columns,
                            gpu::SelectStatus* status) {
  detail::require_array(status, 1, "status");
  detail::PartitionCall call{.mask = mask, .columns = columns, .status = status};
  detail::run_partition(policy, call);
}

/// Takes elements of an array.
inline void take_async(const gpu::Policy& policy, const Indices& indices, std::span<const SelectColumn> columns,
                       gpu::TakeStatus* status) {
  detail::require_array(status, 1, "status");
  detail::TakeCall call{.indices = indices, .columns = columns, .status = status};
  detail::run_take(policy, call);
}
/// Takes elements of lists.
inline void take_async(const gpu::Policy& policy, const Lists& lists, std::int64_t content, const Lists& index_lists,
                       const Indices& indices, std::int64_t* out_offsets, std::span<const SelectColumn> columns,
                       gpu::TakeStatus* status) {
  detail::require_array(status, 1, "status");
  auto call = detail::take_call(lists, content, index_lists, indices, out_offsets);
  call.columns = columns;
  call.status = status;
  detail::run_take(policy, call);
}
/// Writes the positions of those elements in the content.
inline void take_positions_async(const gpu::Policy& policy, const Lists& lists, std::int64_t content,
                                 const Lists& index_lists, const Indices& indices, std::int64_t* out_offsets,
                                 std::int64_t* positions, std::int64_t capacity, gpu::TakeStatus* status) {
  detail::require_array(status, 1, "status");
  auto call = detail::take_call(lists, content, index_lists, indices, out_offsets);
  detail::set_positions(call, positions, capacity);
  call.status = status;
  detail::run_take(policy, call);
}

namespace gpu {

// Device memory that calls need under a policy: for a Workspace. Arrays need not be there yet: pointers may be null.

/// Of such a selection, or its count alone.
inline WorkspaceSize select_workspace(const Policy& policy, const Lists& lists, const Mask& mask,
                                      std::span<const SelectColumn> columns) {
  return upsweep::detail::select_workspace(policy,
                                           {.has_lists = true, .lists = lists, .mask = mask, .columns = columns});
}
/// The same of an array.
inline WorkspaceSize select_workspace(const Policy& policy, const Mask& mask, std::span<const SelectColumn> columns) {
  return upsweep::detail::select_workspace(policy, {.mask = mask, .columns = columns});
}
/// Of partitions of up to that many elements, whatever their columns.
inline WorkspaceSize partition_workspace(const Policy& policy, std::int64_t elements) {
  return upsweep::detail::partition_workspace(policy, {.mask = Mask::bytes(nullptr, elements)});
}
/// Of takes of an array.
inline WorkspaceSize take_workspace(const Policy& policy) { return upsweep::detail::take_workspace(policy, {}); }
/// Of takes of up to that many lists, into outputs, or positions, that have capacity for so many elements.
inline WorkspaceSize take_workspace(const Policy& policy, std::int64_t lists, std::int64_t capacity) {
  const SelectColumn column(nullptr, 0, nullptr, capacity, 1);
  upsweep::detail::TakeCall call{.has_lists = true, .columns = std::span(&column, 1)};
  call.index_lists.count = lists;
  return upsweep::detail::take_workspace(policy, call);
}

}  // namespace gpu
}  // namespace upsweep
