// SPDX-License-Identifier: Apache-2.0
// upsweep/select.hpp: copies selected elements of arrays and of lists, by a mask or by indices.
//
// select     copies, in order, the elements of each list whose mask is true. It writes new offsets and compacted
//            columns of content. Without lists it is plain compaction. With offsets o, mask m and content c:
//              out_offsets[0] = 0,  out_offsets[i+1] = out_offsets[i] + |{j : o[i] <= j < o[i+1], m[j]}|
//              out = c[j] of those j, list after list
// count_kept returns the number of elements that select keeps.
// partition  copies the elements whose mask is true, then the elements whose mask is false, both in order.
// take       copies elements by their positions: out[k] = content[indices[k]]. For lists, out is
//            content[start[i] + indices[k]] for the indices k of list i. A negative index counts from the end of the
//            array, or of the list.
//
// Shapes    the mask has one boolean for each element of the content, even if no list contains the element. Therefore
//           mask[j] belongs to content[j], whatever the first offset is. All columns have the length of the mask.
//           `out_offsets` has n + 1 elements for n lists.
// Memory    the caller allocates the outputs. The outputs of select must have capacity for the kept elements. Their
//           number is the result of count_kept(), and at most the number of the lists' elements. A selection without
//           columns writes only the offsets, and returns that number. The outputs of `partition` have one element per
//           element of the content, those of `take` one element per index. Nothing is written past an output's
//           capacity. `select` and `partition` allocate temporary memory: a sixth of a byte per element of the content
//           (on a GPU a fifth). For lists by starts and stops, they also need 8 bytes per list.
// Columns   a call moves several columns at once, of different sizes: SelectColumn. Elements of 1, 2, 4, 8 or 16 bytes
//           are moved as bytes.
// Lists     see lists.hpp. Results of null lists are empty. Lists may overlap and be in any order.
// Results   the same for any rung, thread count, alignment and instruction set.
// Errors    Error, with index(): stop_before_start, negative_start, stop_past_end (the first bad list),
//           index_out_of_range (the position of the first bad index). `unequal_lengths`: a mask, column or array of
//           lists has another length than the content, or the capacity of an output is too small. After these errors,
//           outputs are unspecified. After invalid_argument, unsupported_type, unknown_rung, unsupported and
//           out_of_memory, nothing is written.
// Rungs     select and count_kept run the ladder select, partition and take run the ladders of their names.
// In place  outputs must overlap neither inputs nor each other.
// GPU       with a gpu::Policy: see gpu.hpp. Arrays are device memory; lists, masks and columns are host objects that
//           view device memory. Calls wait for the stream, except calls named …_async. The error for a bad index does
//           not contain the length of its list.
// Source    Awkward Array's jagged masks and its kernel awkward_ListArray_getitem_jagged_apply; stream compaction.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

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

/// The number of kept elements, and the rung that ran. A Selected converts to the number.
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

/// Whether the arguments contain columns, in an array or one by one. The offsets may then be a pointer.
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

/// Returns the call that takes elements of lists. Columns or positions are added to it.
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

/// Whether a call requests only the offsets of lists: (lists, mask, pointer).
template <class... T>
inline constexpr bool kOffsetsOnly = false;
template <class Of, class Kept, class Out>
inline constexpr bool kOffsetsOnly<Of, Kept, Out> =
    std::is_convertible_v<Kept, Mask> && std::is_same_v<std::remove_cvref_t<Out>, std::int64_t*>;

/// The position of a selection's mask: (mask, content, out) or (lists, mask, out_offsets, content, out).
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

/// Selects elements of lists, of several columns. `out_offsets` has lists.count + 1 elements.
template <detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Lists& lists, const Mask& mask, std::int64_t* out_offsets,
                std::span<const SelectColumn> columns) {
  detail::require_array(out_offsets, lists.count + 1, "out_offsets");
  detail::SelectCall call{
      .has_lists = true, .lists = lists, .mask = mask, .out_offsets = out_offsets, .columns = columns};
  return detail::select(policy, call);
}
/// Selects elements of lists, with columns as arguments:
/// `select(par, offsets, mask, out_offsets, SelectColumn(pt, out_pt), …)`.
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

/// Selects elements of lists, of one column: `select(par, offsets, mask, out_offsets, pt, out_pt)`.
template <detail::OffsetsOutput Offsets, std::ranges::range Content, std::ranges::range Out,
          detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Lists& lists, const Mask& mask, Offsets&& out_offsets, const Content& content,
                Out&& out) {
  return upsweep::select(policy, lists, mask, out_offsets, detail::column_of<P>(content, out));
}

/// Selects elements of an array, of several columns (compaction).
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
/// Selects elements of an array, of one column: `select(par, mask, pt, out_pt)`.
template <std::ranges::range Content, std::ranges::range Out, detail::AnyPolicy P = Policy>
Selected select(const P& policy, const Mask& mask, const Content& content, Out&& out) {
  return upsweep::select(policy, mask, detail::column_of<P>(content, out));
}

// ---------------------------------------------------------------------------------------------------------- count_kept

/// Returns the number of elements of the lists that a selection keeps. The call also checks the lists.
template <detail::AnyPolicy P = Policy>
Selected count_kept(const P& policy, const Lists& lists, const Mask& mask) {
  detail::SelectCall call{.has_lists = true, .lists = lists, .mask = mask};
  return detail::select(policy, call);
}

/// Returns the number of booleans that are true.
template <detail::AnyPolicy P = Policy>
Selected count_kept(const P& policy, const Mask& mask) {
  detail::SelectCall call{.mask = mask};
  return detail::select(policy, call);
}

// ----------------------------------------------------------------------------------------------------------- partition

/// Copies the elements whose mask is true, then the elements whose mask is false. Returns the number of elements whose
/// mask is true. Outputs need capacity for all elements.
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
/// Partitions the elements of one column.
template <std::ranges::range Content, std::ranges::range Out, detail::AnyPolicy P = Policy>
std::int64_t partition(const P& policy, const Mask& mask, const Content& content, Out&& out) {
  return upsweep::partition(policy, mask, detail::column_of<P>(content, out));
}

// ---------------------------------------------------------------------------------------------------------------- take

/// Copies elements of an array by their positions, into outputs with capacity for one element per index.
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
/// Copies elements of one column by their positions, with arguments in NumPy's order: `take(par, content, indices,
/// out)`.
template <std::ranges::range Content, std::ranges::range At, std::ranges::range Out, detail::AnyPolicy P = Policy>
void take(const P& policy, const Content& content, const At& indices, Out&& out) {
  detail::require_memory_of<P, At>();
  upsweep::take(policy, Indices(indices), detail::column_of<P>(content, out));
}

/// Copies elements of lists by their positions. Each list has its own list of indices, with the same number in
/// `index_lists`. An index is a position within the list. `content` is the number of elements in the array that the
/// lists divide. `out_offsets` has lists.count + 1 elements. Returns the number of taken elements.
///
/// Lists are checked one after the other, in Awkward Array's order: first the bounds of the index list, then the bounds
/// of the list, then the indices. If an index list is empty, the bounds of its list are not checked.
template <detail::AnyPolicy P = Policy>
std::int64_t take(const P& policy, const Lists& lists, std::int64_t content, const Lists& index_lists,
                  const Indices& indices, std::int64_t* out_offsets, std::span<const SelectColumn> columns) {
  auto call = detail::take_call(lists, content, index_lists, indices, out_offsets);
  call.columns = columns;
  detail::run_take(policy, call);
  return call.taken;
}
/// Copies elements of lists by their positions, of one column:
/// `take(par, offsets, pt, index_offsets, indices, out_offsets, out_pt)`.
template <std::ranges::range Content, detail::OffsetsOutput Offsets, std::ranges::range Out,
          detail::AnyPolicy P = Policy>
std::int64_t take(const P& policy, const Lists& lists, const Content& content, const Lists& index_lists,
                  const Indices& indices, Offsets&& out_offsets, Out&& out) {
  const SelectColumn column = detail::column_of<P>(content, out);
  return upsweep::take(policy, lists, std::ssize(content), index_lists, indices,
                       detail::offsets_output<P>(out_offsets, index_lists.count), std::span(&column, 1));
}

/// Writes the positions in the content of the elements that take() of lists copies. take() without lists can later copy
/// columns by these positions. `positions` has capacity for `capacity` positions.
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

// ----------------------------------------------------------------------------------------------- on a GPU, not waiting
// `status`, in device memory, contains the outcome once the stream has finished the call.

/// Selects elements of lists without waiting. Returns the rung.
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
/// Selects elements of an array without waiting. Returns the rung.
inline std::string_view select_async(const gpu::Policy& policy, const Mask& mask, std::span<const SelectColumn> columns,
                                     gpu::SelectStatus* status) {
  detail::require_array(status, 1, "status");
  detail::SelectCall call{.mask = mask, .columns = columns, .status = status};
  return detail::run_select(policy, call);
}

/// Partitions an array without waiting. `status` contains the number of elements whose mask is true.
inline void partition_async(const gpu::Policy& policy, const Mask& mask, std::span<const SelectColumn> columns,
                            gpu::SelectStatus* status) {
  detail::require_array(status, 1, "status");
  detail::PartitionCall call{.mask = mask, .columns = columns, .status = status};
  detail::run_partition(policy, call);
}

/// Copies elements of an array by their positions without waiting.
inline void take_async(const gpu::Policy& policy, const Indices& indices, std::span<const SelectColumn> columns,
                       gpu::TakeStatus* status) {
  detail::require_array(status, 1, "status");
  detail::TakeCall call{.indices = indices, .columns = columns, .status = status};
  detail::run_take(policy, call);
}
/// Copies elements of lists by their positions without waiting.
inline void take_async(const gpu::Policy& policy, const Lists& lists, std::int64_t content, const Lists& index_lists,
                       const Indices& indices, std::int64_t* out_offsets, std::span<const SelectColumn> columns,
                       gpu::TakeStatus* status) {
  detail::require_array(status, 1, "status");
  auto call = detail::take_call(lists, content, index_lists, indices, out_offsets);
  call.columns = columns;
  call.status = status;
  detail::run_take(policy, call);
}
/// Writes the positions in the content of the elements that take_async() of lists copies.
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

// Sizes of workspaces that calls need under a policy. The arrays need not exist yet: pointers may be null.

/// Returns the size of the Workspace that select() or count_kept() of these lists needs.
inline WorkspaceSize select_workspace(const Policy& policy, const Lists& lists, const Mask& mask,
                                      std::span<const SelectColumn> columns) {
  return upsweep::detail::select_workspace(policy,
                                           {.has_lists = true, .lists = lists, .mask = mask, .columns = columns});
}
/// Returns the size of the Workspace that select() or count_kept() of an array needs.
inline WorkspaceSize select_workspace(const Policy& policy, const Mask& mask, std::span<const SelectColumn> columns) {
  return upsweep::detail::select_workspace(policy, {.mask = mask, .columns = columns});
}
/// Returns the size of the Workspace that partitions of up to `elements` elements need, whatever their columns.
inline WorkspaceSize partition_workspace(const Policy& policy, std::int64_t elements) {
  return upsweep::detail::partition_workspace(policy, {.mask = Mask::bytes(nullptr, elements)});
}
/// Returns the size of the Workspace that takes of an array need.
inline WorkspaceSize take_workspace(const Policy& policy) { return upsweep::detail::take_workspace(policy, {}); }
/// Returns the size of the Workspace that takes of up to `lists` lists need, into outputs or positions with capacity
/// for `capacity` elements.
inline WorkspaceSize take_workspace(const Policy& policy, std::int64_t lists, std::int64_t capacity) {
  const SelectColumn column(nullptr, 0, nullptr, capacity, 1);
  upsweep::detail::TakeCall call{.has_lists = true, .columns = std::span(&column, 1)};
  call.index_lists.count = lists;
  return upsweep::detail::take_workspace(policy, call);
}

}  // namespace gpu
}  // namespace upsweep
