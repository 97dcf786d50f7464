// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/arrays.hpp: arrays as calls take them, and static_asserts that say why something else is refused.
//
// Calls that take arrays are declared for all that is no pointer and no number. Were they declared for arrays only, a call
// with something else would match none of them, and the compiler would list them all instead of saying what is required.
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

/// What stands where a call takes an array.
template <class R>
concept ArrayArgument = !std::is_pointer_v<std::remove_cvref_t<R>> && !std::is_arithmetic_v<std::remove_cvref_t<R>>;

/// The element of what is no array: anything, as the call is refused.
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

/// How many they are: of the arrays that data_of() takes.
template <class R>
constexpr std::int64_t length_of(R&& array) {
  if constexpr (InputArray<R>) {
    return std::ranges::ssize(array);
  } else {
    return 0;  // of what data_of() refuses
  }
}

template <class T>
concept ClassIterator = std::is_class_v<T> && std::input_or_output_iterator<T>;

/// What stands in a policy's place: arrays, pointers to numbers and iterators where it was left out, and the standard library's
/// policies, which are empty classes.
template <class T>
concept NotAPolicy = std::ranges::range<T> || ClassIterator<T> || (std::is_class_v<T> && std::is_empty_v<T>) ||
                     (std::is_pointer_v<T> && std::is_arithmetic_v<std::remove_pointer_t<T>>);

template <class... T>
inline constexpr bool kHasIterator = (ClassIterator<T> || ...);

/// Whether what follows the first pointer, which is how many elements it has, is a float.
template <class... T>
struct FloatLength : std::false_type {};
template <class First, class Second, class... Rest>
struct FloatLength<First, Second, Rest...>
    : std::conditional_t<std::is_pointer_v<First>, std::is_floating_point<Second>, FloatLength<Second, Rest...>> {};

template <class... T>
concept HasFloat = (std::is_floating_point_v<T> || ...);

/// Calls that match no function, or one only by a conversion that loses something.
template <class First, class... Rest>
concept RefusedCall = NotAPolicy<First> || kHasIterator<Rest...> || FloatLength<Rest...>::value;
/// The same of functions whose numbers are all integers: targets, sizes, counts.
template <class First, class... Rest>
concept RefusedCallOfIntegers = RefusedCall<First, Rest...> || HasFloat<Rest...>;

/// Refuses a length or a count that is a float.
template <class... T>
constexpr void refuse_float() {
  static_assert(!HasFloat<T...>, "lengths, counts and targets must be integers: convert a float first");
}

/// Refuses such a call. The return type is deduced so that this is the first error, not what the result is used for.
template <class First, class... Rest>
auto refuse_call() {
  static_assert(!NotAPolicy<First>, "the first argument must be a policy: upsweep::par or upsweep::seq");
  static_assert(NotAPolicy<First> || !kHasIterator<Rest...>,
                "upsweep takes arrays, not iterators: pass the std::vector, std::array or std::span itself, or a "
                "pointer and a length");
  if constexpr (!NotAPolicy<First> && !kHasIterator<Rest...>) refuse_float<Rest...>();
}

/// A name that stands for several functions, as std::max<int> does: nothing else needs this conversion.
template <class T>
struct SeveralFunctions {
  SeveralFunctions(const T& (*)(const T&, const T&)) {}  // NOLINT(google-explicit-constructor)
};
template <class T>
auto refuse_several_functions() {
  static_assert(!std::is_same_v<T, T>,
                "the operator is a name of several functions, such as std::max<int>: pass upsweep::max or "
                "upsweep::min, or a lambda that calls the one that is meant");
}

/// Whether one of the first kOnly arguments is a pointer to elements, or of the kMixed that follow one is a pointer and one an array.
template <int kOnly, int kMixed, class... T>
consteval bool has_pointer_for_array() {
  int at = 0;
  bool has_misplaced = false;
  bool has_pointer = false;
  bool has_array = false;
  [[maybe_unused]] const auto look = [&](bool is_pointer, bool is_array) {
    if (at < kOnly) has_misplaced |= is_pointer;
    if (at >= kOnly && at < kOnly + kMixed) {
      has_pointer |= is_pointer;
      has_array |= is_array;
    }
    ++at;
  };
  // A C array may stand for a pointer.
  (look(std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>, InputArray<T> && !std::is_array_v<T>), ...);
  return has_misplaced || (has_pointer && has_array);
}

/// Calls whose first kOnly arguments after the policy must not be pointers, and the kMixed after those all pointers or all arrays.
template <int kOnly, int kMixed, class... Rest>
concept PointerForArray = has_pointer_for_array<kOnly, kMixed, std::remove_cvref_t<Rest>...>();
inline constexpr int kAllArguments = 99;

/// Whether a call begins with two arrays: what follows these may be a pointer, such as an initial value.
template <class... T>
inline constexpr bool kBeginsWithArrays = false;
template <class First, class Second, class... Rest>
inline constexpr bool kBeginsWithArrays<First, Second, Rest...> =
    InputArray<std::remove_cvref_t<First>> && InputArray<std::remove_cvref_t<Second>>;

/// Refuses such a call.
template <class... Rest>
auto refuse_pointer() {
  static_assert(sizeof...(Rest) == 0,
                "this call takes an array where a pointer is given: pass the std::vector, std::array or std::span "
                "itself, or std::span(pointer, n)");
}

}  // namespace upsweep::detail
