// SPDX-License-Identifier: Apache-2.0
// upsweep/lists.hpp: views that describe lists in an array of content, and booleans, without a copy.
//
// Lists     of a content array: list i contains the elements starts[i] … stops[i] - 1. Lists are given in one of three
//           forms. n + 1 offsets: starts[i] is offset i, and stops[i] is offset i + 1. Starts and stops: lists may be
//           in any order, overlap and have gaps. One size: all lists have this size and are adjacent.
// Types     offsets, starts and stops are int32, uint32 or int64.
// Nulls     a list whose validity is false is null: it is treated as empty, and its bounds are not checked.
// Errors    calls check lists while they process them and report the first bad list: stop_before_start (offsets
//           decrease), negative_start, stop_past_end (past the end of the content). An empty list, whose start and stop
//           are equal, may have bounds of any value.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include "upsweep/detail/arrays.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

template <class T>
concept ListBound = std::same_as<T, std::int32_t> || std::same_as<T, std::uint32_t> || std::same_as<T, std::int64_t>;

namespace detail {

template <class R>
concept BoundArray = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                     ListBound<std::remove_cv_t<std::ranges::range_value_t<R>>>;
template <class R>
concept BooleanArray =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && sizeof(std::ranges::range_value_t<R>) == 1;

/// Returns the pointer to bounds of lists, indices or lengths.
template <class R>
constexpr auto bounds_of(const R& bounds) {
  static_assert(BoundArray<R> || !InputArray<R>,
                "offsets, starts, stops, lengths and indices must be of std::int32_t, std::uint32_t or std::int64_t: "
                "copy others, such as std::size_t, to one of these first");
  if constexpr (InputArray<R> && !BoundArray<R>) {
    return static_cast<const std::int64_t*>(nullptr);
  } else {
    return data_of(bounds);
  }
}
/// Returns the pointer to stops or sizes that belong to the starts in an R. They must have the type of the starts.
template <class R, class S>
constexpr auto bounds_beside(const S& bounds) {
  using Starts = decltype(bounds_of(std::declval<const R&>()));
  constexpr bool kSame = std::same_as<std::ranges::range_value_t<R>, std::ranges::range_value_t<S>>;
  static_assert(kSame, "starts and stops, or sizes, must be of one type: copy one of them to an array of the other's");
  if constexpr (kSame) {
    return Starts{bounds_of(bounds)};
  } else {
    return Starts{};
  }
}

/// Returns the pointer to offsets or positions that a call writes.
template <class R>
constexpr std::int64_t* offsets_of(R&& offsets) {
  static_assert(std::same_as<ElementOf<R>, std::int64_t> || !OutputArray<R>,
                "offsets and positions are written as std::int64_t");
  auto* const data = output_of(offsets);
  if constexpr (std::same_as<ElementOf<R>, std::int64_t>) {
    return data;
  } else {
    return nullptr;
  }
}

/// Returns the number of lists that `offsets` offsets describe. Throws unequal_lengths if there are no offsets.
std::int64_t lists_of_offsets(std::int64_t offsets);
/// Throws unequal_lengths if the numbers of starts and stops differ.
void require_as_many_stops(std::int64_t starts, std::int64_t stops);

/// Returns the address of the next bound, after a bound of `bytes` bytes. The address is computed as a number, because
/// `bounds` may be null.
inline const void* bounds_after(const void* bounds, std::int64_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): no arithmetic on a null pointer
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(bounds) + static_cast<std::uintptr_t>(bytes));
}

/// Whether the arrays of a call exist. If the caller allocates them later, pointers are not checked: all may be null.
enum class ArraysAre : std::uint8_t { there, to_come };

}  // namespace detail

/// Booleans: one byte each (0 is false), or one bit each, the low bit of a byte first, as in Arrow.
struct Mask {
  const std::uint8_t* data = nullptr;
  std::int64_t length = -1;    ///< -1: there is no mask
  std::int64_t first_bit = 0;  ///< of a bitmap: number of bits before the first boolean
  bool is_bitmap = false;

  constexpr Mask() = default;
  template <detail::BooleanArray R>
  Mask(const R& booleans)  // NOLINT(google-explicit-constructor): an array of booleans is a mask
      : Mask(bytes(std::ranges::data(booleans), std::ssize(booleans))) {}
  /// Refuses std::vector<bool>, whose bits are not accessible.
  template <std::ranges::range R>
    requires(!detail::BooleanArray<R> && std::same_as<std::ranges::range_value_t<R>, bool>)
  Mask(const R& booleans)  // NOLINT(google-explicit-constructor): as above
      : Mask(bytes(detail::data_of(booleans), 0)) {}

  static Mask bytes(const void* data, std::int64_t length) {
    Mask mask;
    mask.data = static_cast<const std::uint8_t*>(data);
    mask.length = length;
    return mask;
  }
  static Mask bits(const void* data, std::int64_t length, std::int64_t first_bit = 0) {
    Mask mask = bytes(data, length);
    mask.first_bit = first_bit;
    mask.is_bitmap = true;
    return mask;
  }

  /// @cond
  template <class... T>
    requires detail::HasFloat<T...>
  static Mask bytes(const void* /*data*/, T... /*numbers*/) {
    detail::refuse_float<T...>();
    return {};
  }
  template <class... T>
    requires detail::HasFloat<T...>
  static Mask bits(const void* /*data*/, T... /*numbers*/) {
    detail::refuse_float<T...>();
    return {};
  }
  /// @endcond

  [[nodiscard]] constexpr bool is_given() const { return length != -1; }
  /// Returns the number of bytes from the first byte on.
  [[nodiscard]] constexpr std::int64_t bytes() const { return is_bitmap ? (first_bit + length + 7) / 8 : length; }
  [[nodiscard]] constexpr bool operator[](std::int64_t i) const {
    if (!is_bitmap) return data[i] != 0;
    const std::int64_t bit = first_bit + i;
    return ((data[bit / 8] >> (bit % 8)) & 1) != 0;
  }
};

/// Lists in an array of content.
struct Lists {
  const void* starts = nullptr;
  const void* stops = nullptr;  ///< by offsets: the address of the second offset
  Type type = Type::int64;      ///< of starts and stops
  std::int64_t count = 0;
  bool has_size = false;  ///< there are no bounds: all lists have one size and are one after the other
  std::int64_t size = 0;  ///< with has_size: the number of elements of each list
  Mask valid = {};        ///< false where a list is null; not given: no list is null

  constexpr Lists() = default;
  /// Views the lists between n + 1 offsets.
  template <std::ranges::range R>
  Lists(const R& offsets)  // NOLINT(google-explicit-constructor): offsets are lists
      : Lists(by_offsets(detail::bounds_of(offsets), detail::lists_of_offsets(detail::length_of(offsets)))) {}
  /// Views the lists between starts and stops, which must have one length.
  template <std::ranges::range R, std::ranges::range S>
  Lists(const R& each_start, const S& each_stop)
      : Lists(by_bounds(detail::bounds_of(each_start), detail::bounds_beside<R>(each_stop),
                        detail::length_of(each_start))) {
    detail::require_as_many_stops(detail::length_of(each_start), detail::length_of(each_stop));
  }

  /// Returns `count` lists between count + 1 offsets. Null offsets describe lists whose memory does not exist yet. The
  /// functions that return the size of a workspace accept them.
  template <ListBound T>
  static Lists by_offsets(const T* offsets, std::int64_t count) {
    return by_bounds(offsets, static_cast<const T*>(detail::bounds_after(offsets, sizeof(T))), count);
  }
  /// Returns `count` lists between starts and stops.
  template <ListBound T>
  static Lists by_bounds(const T* starts, const T* stops, std::int64_t count) {
    Lists lists;
    lists.starts = starts;
    lists.stops = stops;
    lists.type = type_of<T>();
    lists.count = count;
    return lists;
  }
  /// Returns `count` lists of `size` elements each, one after the other.
  static constexpr Lists of_size(std::int64_t count, std::int64_t size) {
    Lists lists;
    lists.count = count;
    lists.has_size = true;
    lists.size = size;
    return lists;
  }

  /// @cond
  template <class... T>
    requires detail::HasFloat<T...>
  static Lists by_offsets(T... /*arguments*/) {
    detail::refuse_float<T...>();
    return {};
  }
  template <class... T>
    requires detail::HasFloat<T...>
  static Lists by_bounds(T... /*arguments*/) {
    detail::refuse_float<T...>();
    return {};
  }
  template <class... T>
    requires detail::HasFloat<T...>
  static constexpr Lists of_size(T... /*numbers*/) {
    detail::refuse_float<T...>();
    return {};
  }
  /// @endcond

  /// Returns these lists with a validity: lists are null where `mask` is false.
  [[nodiscard]] Lists with_validity(const Mask& mask) const {
    Lists lists = *this;
    lists.valid = mask;
    return lists;
  }

  /// Returns whether the lists are one after the other, because they are given by offsets or have one size.
  [[nodiscard]] bool are_adjacent() const {
    return has_size || count == 0 || stops == detail::bounds_after(starts, size_of(type));
  }
};

namespace detail {

/// Checks everything about lists except their bounds. Throws invalid_argument for a negative count or size, more than
/// 2^48 lists, or null pointers if there are lists. Throws unequal_lengths for a validity of another length, and if
/// lists of one size need more than `content` elements. Throws overflow if the number of their elements does not fit
/// int64.
void require_lists(const Lists& lists, std::int64_t content, ArraysAre arrays = ArraysAre::there);
/// Throws invalid_argument for a negative length, and for a null pointer if there are elements.
void require_array(const void* data, std::int64_t n, const char* what, ArraysAre arrays);
/// Throws unequal_lengths if the number of outputs is not the number of lists.
void require_an_element_each(const Lists& lists, std::int64_t outputs);
/// Checks a mask. Throws invalid_argument if its arguments are invalid. Throws unequal_lengths if the mask is given and
/// its length is not `length`.
void require_mask(const Mask& mask, std::int64_t length, const char* what, ArraysAre arrays = ArraysAre::there);

}  // namespace detail
}  // namespace upsweep
