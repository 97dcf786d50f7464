// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/arrays.hpp: the arrays that calls take, and static_asserts that refuse other arguments.
//
// Calls that take arrays are declared for every type that is neither a pointer nor a number. If they were declared for
// arrays only, a call with another argument would match no overload. The compiler would then list all overloads instead
// of the requirement.
#pragma once

#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>

namespace upsweep::detail {

template <class R>
concept InputArray = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;
template <class R>
concept OutputArray = InputArray<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// An argument where a call takes an array.
template <class R>
concept ArrayArgument = !std::is_pointer_v<std::remove_cvref_t<R>> && !std::is_arithmetic_v<std::remove_cvref_t<R>>;

/// The element type of an argument that is not an array. It converts from anything, because the call is refused anyway.
struct NoElement {
  template <class... T>
  constexpr NoElement(const T&... /*values*/) {}  // NOLINT(google-explicit-constructor)
};

template <class R>
struct ElementOfArray {
  using Element = NoElement;
};
template <std::ranges::range R>
struct ElementOfArray<R> {
  using Element = std::ranges::range_value_t<R>;
};
template <class R>
using ElementOf = typename ElementOfArray<R>::Element;

template <class R>
inline constexpr bool kIsIterator = std::input_or_output_iterator<std::remove_cvref_t<R>>;

/// The elements of an array.
template <class R>
constexpr auto data_of(R&& array) {
  static_assert(InputArray<R> || !InputArray<std::remove_const_t<std::remove_reference_t<R>>>,
                "this view has no begin() that is const, as std::views::drop_while: pass it as std::span(view)");
  static_assert(!kIsIterator<R>,
                "upsweep takes arrays, not iterators: pass the std::vector, std::array or std::span itself, or a "
                "pointer and a length");
  static_assert(InputArray<R> || kIsIterator<R>,
                "arrays must be contiguous in memory, as std::vector, std::array and std::span are: copy a "
                "std::deque, a std::vector<bool> or a view that computes its elements to a std::vector first");
  if constexpr (InputArray<R>) {
    return std::ranges::data(array);
  } else {
    return static_cast<ElementOf<R>*>(nullptr);
  }
}

/// The elements of an array that a call writes.
template <class R>
constexpr auto output_of(R&& array) {
  static_assert(OutputArray<R> || !InputArray<R>, "the output's elements must not be const");
  if constexpr (InputArray<R> && !OutputArray<R>) {
    return static_cast<ElementOf<R>*>(nullptr);
  } else {
    return data_of(array);
  }
}

/// The number of elements of an array that data_of() accepts.
template <class R>
constexpr std::int64_t length_of(R&& array) {
  if constexpr (InputArray<R>) {
    return std::ranges::ssize(array);
  } else {
    return 0;  // for an argument that data_of() refuses
  }
}

template <class... T>
concept HasFloat = (std::is_floating_point_v<T> || ...);

/// Refuses a length or a count that is a float.
template <class... T>
constexpr void refuse_float() {
  static_assert(!HasFloat<T...>, "lengths, counts and targets must be integers: convert a float first");
}

}  // namespace upsweep::detail
