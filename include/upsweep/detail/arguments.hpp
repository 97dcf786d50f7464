// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/arguments.hpp: the requirements of public functions on their arguments, with one refusal for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>
#include <vector>

#include "upsweep/detail/arrays.hpp"
#include "upsweep/detail/carry.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::gpu {
template <class T>
struct ValueAt;
}  // namespace upsweep::gpu

namespace upsweep::detail {

/// A container whose elements are in host memory.
template <class R>
inline constexpr bool kIsHostContainer = false;
template <class T>
inline constexpr bool kIsHostContainer<std::vector<T>> = true;
template <class T, std::size_t kLength>
inline constexpr bool kIsHostContainer<std::array<T, kLength>> = true;
template <class T, std::size_t kLength>
inline constexpr bool kIsHostContainer<T[kLength]> = true;

/// Refuses host containers in a call on a GPU. The library checks the memory of all other arrays at run time.
template <AnyPolicy P, class... R>
constexpr void require_memory_of() {
  static_assert(
      !kIsGpuPolicy<P> || !(kIsHostContainer<std::remove_cvref_t<R>> || ...),
      "a std::vector, std::array or C array is in host memory: with a gpu::Policy, pass device memory, such as "
      "std::span(pointer, n)");
}

template <class T>
concept ClassIterator = std::is_class_v<T> && std::input_or_output_iterator<T>;

/// An argument in the place of a policy that is not a policy. Either the policy was omitted, and the argument is an
/// array, a pointer to numbers or an iterator. Or it is a policy of the standard library, which is an empty class.
template <class T>
concept NotAPolicy = std::ranges::range<T> || ClassIterator<T> || (std::is_class_v<T> && std::is_empty_v<T>) ||
                     (std::is_pointer_v<T> && std::is_arithmetic_v<std::remove_pointer_t<T>>);

/// An argument that converts to a policy only if it is not const. Functions take policies as const.
template <class T>
concept MutablePolicy = !AnyPolicy<T> && (std::is_convertible_v<T&, Policy> || std::is_convertible_v<T&, gpu::Policy>);

template <class... T>
inline constexpr bool kHasIterator = (ClassIterator<T> || ...);

/// A pointer to elements.
template <class T>
inline constexpr bool kIsArrayPointer = std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>;

/// Whether one of the first kLengths runs of pointers is followed by a float although the call takes a length there. A
/// C array may replace a pointer. A float after a C array is not a length, as in reduce(par, array, 0.5).
template <int kLengths, class... T>
consteval bool has_float_length() {
  int run = 0;
  bool in_run = false;
  bool after_pointer = false;
  bool has_float = false;
  [[maybe_unused]] const auto look = [&](bool is_pointer, bool is_c_array, bool is_float) {
    if (!is_pointer && !is_c_array) {
      has_float |= after_pointer && run < kLengths && is_float;
      run += in_run ? 1 : 0;
    }
    in_run = is_pointer || is_c_array;
    after_pointer = is_pointer;
  };
  (look(kIsArrayPointer<T>, std::is_array_v<T>, std::is_floating_point_v<T>), ...);
  return has_float;
}

/// Accepts only a name that stands for several functions, such as std::max<int>: no other argument needs this
/// conversion.
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

/// Whether one of the first kOnly arguments is a pointer to elements, or the next kMixed arguments contain both a
/// pointer and an array.
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
  // A C array may replace a pointer.
  (look(std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>, InputArray<T> && !std::is_array_v<T>), ...);
  return has_misplaced || (has_pointer && has_array);
}

/// Calls that break a rule. The first kOnly arguments after the policy must not be pointers. The next kMixed arguments
/// must be all pointers or all arrays.
template <int kOnly, int kMixed, class... Rest>
concept PointerForArray = has_pointer_for_array<kOnly, kMixed, std::remove_cvref_t<Rest>...>();
inline constexpr int kAllArguments = 99;

/// Whether a call begins with two arrays. An argument after these may be a pointer, such as an initial value.
template <class... T>
inline constexpr bool kBeginsWithArrays = false;
template <class First, class Second, class... Rest>
inline constexpr bool kBeginsWithArrays<First, Second, Rest...> =
    InputArray<std::remove_cvref_t<First>> && InputArray<std::remove_cvref_t<Second>>;

/// The arguments that a function takes. Positions count from the argument after the policy.
struct ArgumentRules {
  int arrays = 0;          ///< number of arguments at the beginning that must not be pointers
  int alike = 0;           ///< number of arguments after those that are all pointers or all arrays
  bool integers = false;   ///< every number is a length, a count or a target
  int lengths = 1;         ///< number of runs of pointers that are followed by a length
  bool has_range = false;  ///< a call does not begin with two pointers into one array
  bool value_at = false;   ///< an initial value may be a gpu::ValueAt with a gpu::Policy
  int mask = -1;           ///< the position of a mask; -1: there is none
};

/// An argument in the place of a mask that is not a mask: an array of other elements, or a function.
template <class T>
concept NotAMask = (std::ranges::range<T> || std::is_empty_v<T>) && !std::is_convertible_v<const T&, Mask>;

template <class... Rest>
consteval bool lacks_mask(int at) {
  int i = 0;
  return ((i++ == at && NotAMask<Rest>) || ...);
}

/// Whether a call begins with two pointers to elements of one type. The first one may be a C array.
template <class... T>
inline constexpr bool kBeginsWithPointers = false;
template <class First, class Second, class... Rest>
inline constexpr bool kBeginsWithPointers<First, Second, Rest...> =
    std::is_pointer_v<std::decay_t<First>> && std::is_pointer_v<Second> &&
    std::is_same_v<std::remove_cv_t<std::remove_pointer_t<std::decay_t<First>>>,
                   std::remove_cv_t<std::remove_pointer_t<Second>>>;

template <class T>
inline constexpr bool kIsCarry = false;
template <class T>
inline constexpr bool kIsCarry<ScanCarry<T>> = true;

/// Whether a call takes an initial value before its operator if its first argument is a T. True for policies, and for
/// the classes that chunked.hpp and shards.hpp add.
template <class T>
inline constexpr bool kTakesInit = AnyPolicy<T>;

template <class T>
inline constexpr bool kIsValueAt = false;
template <class T>
inline constexpr bool kIsValueAt<gpu::ValueAt<T>> = true;

/// A class, a function, or a pointer to a function.
template <class Op>
concept MaybeOperator =
    std::is_class_v<Op> || std::is_function_v<Op> || (std::is_pointer_v<Op> && !kIsArrayPointer<Op>);
/// An operator, and a value that it combines. A mask after an operator is not combined, so the operator is not tried on
/// it.
template <class Op, class T>
concept OperatorThenValue =
    MaybeOperator<Op> && !std::ranges::range<Op> && !std::ranges::range<T> && !std::is_pointer_v<T> && !kIsCarry<T> &&
    !std::is_convertible_v<const T&, Mask> && std::is_invocable_v<Op&, T, T>;
/// Whether an initial value follows its operator somewhere in a call.
template <class... T>
inline constexpr bool kHasOperatorFirst = false;
template <class First, class Second, class... Rest>
inline constexpr bool kHasOperatorFirst<First, Second, Rest...> =
    OperatorThenValue<First, Second> || kHasOperatorFirst<Second, Rest...>;

enum class Refusal : std::uint8_t {
  none,
  mutable_policy,
  no_policy,
  iterators,
  mask,
  pointer,
  value_at,
  number,
  order
};

/// The reason why a function with these rules refuses a call. The arguments are plain types.
template <ArgumentRules kRules, class First, class... Rest>
consteval Refusal refusal_of() {
  if constexpr (MutablePolicy<First>) {
    return Refusal::mutable_policy;
  } else if constexpr (NotAPolicy<First>) {
    return Refusal::no_policy;
  } else if constexpr (kHasIterator<Rest...> ||
                       (kRules.has_range && AnyPolicy<First> && kBeginsWithPointers<Rest...>)) {
    return Refusal::iterators;
  } else if constexpr (AnyPolicy<First> && lacks_mask<Rest...>(kRules.mask)) {
    return Refusal::mask;
  } else if constexpr (AnyPolicy<First> && PointerForArray<kRules.arrays, kRules.alike, Rest...>) {
    return Refusal::pointer;
  } else if constexpr ((kIsValueAt<Rest> || ...) && !(kRules.value_at && kIsGpuPolicy<First>)) {
    return Refusal::value_at;
  } else if constexpr (has_float_length<kRules.lengths, Rest...>() || (kRules.integers && HasFloat<Rest...>)) {
    return Refusal::number;
  } else {
    return kTakesInit<First> && kHasOperatorFirst<Rest...> ? Refusal::order : Refusal::none;
  }
}
template <ArgumentRules kRules, class First, class... Rest>
concept Refused = refusal_of<kRules, First, std::remove_cvref_t<Rest>...>() != Refusal::none;

/// Refuses such a call. The return type is deduced so that the compiler reports this error first, not the use of the
/// result.
template <ArgumentRules kRules, class First, class... Rest>
auto refuse() {
  constexpr Refusal kWhy = refusal_of<kRules, First, std::remove_cvref_t<Rest>...>();
  static_assert(kWhy != Refusal::no_policy,
                "the first argument must be a policy: upsweep::par or upsweep::seq, or a gpu::Policy");
  static_assert(kWhy != Refusal::mutable_policy,
                "the first argument converts to a policy only where it is not const: make its conversion operator "
                "const");
  static_assert(kWhy != Refusal::iterators,
                "upsweep takes arrays, not iterators: pass the std::vector, std::array or std::span itself, or a "
                "pointer and a length");
  static_assert(kWhy != Refusal::pointer,
                "this call takes an array where a pointer is given: pass the std::vector, std::array or std::span "
                "itself, or std::span(pointer, n)");
  static_assert(
      kWhy != Refusal::value_at,
      "a gpu::ValueAt is an initial value of inclusive_scan, exclusive_scan and reduce_async with a gpu::Policy, "
      "pointers and a length");
  static_assert(kWhy != Refusal::number, "lengths, counts and targets must be integers: convert a float first");
  static_assert(kWhy != Refusal::mask,
                "a mask must be an array of bool or std::uint8_t, one for each element: compute it first, such as "
                "keep[i] = x[i] > 0");
  static_assert(kWhy != Refusal::order, "the initial value comes before the operator: (..., init, op)");
}

/// A call whose communicator is followed by a policy, and whose operator precedes its initial value.
template <class P, class... Rest>
concept OperatorFirst = AnyPolicy<P> && kHasOperatorFirst<std::remove_cvref_t<Rest>...>;
/// Refuses such a call, for MPI and NCCL.
template <class P, class... Rest>
auto refuse_order() {
  return refuse<ArgumentRules{}, P, Rest...>();
}

/// The rules of functions whose numbers are all integers.
inline constexpr ArgumentRules kIntegersOnly{.integers = true};

}  // namespace upsweep::detail
