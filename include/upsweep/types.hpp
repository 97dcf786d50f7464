// SPDX-License-Identifier: Apache-2.0
// upsweep/types.hpp: the ten element types that the library is compiled for, and their names.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"

namespace upsweep {

/// The element types with compiled kernels. `custom` is any other trivially copyable type: it runs through templates.
enum class Type : std::uint8_t { int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, custom };

inline constexpr int kTypeCount = static_cast<int>(Type::custom);

/// The C++ types of the values of `Type`, in the same order.
using Types = std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                         std::uint32_t, std::uint64_t, float, double>;

namespace detail {

struct TypeInfo {
  std::string_view name;
  int size;  ///< bytes of an element; 0 for `custom`
  bool is_integer;
  bool is_signed;  ///< of integers
};
inline constexpr TypeInfo kTypes[] = {
    {"int8", 1, true, true},      {"int16", 2, true, true},     {"int32", 4, true, true},   {"int64", 8, true, true},
    {"uint8", 1, true, false},    {"uint16", 2, true, false},   {"uint32", 4, true, false}, {"uint64", 8, true, false},
    {"float32", 4, false, false}, {"float64", 8, false, false}, {"custom", 0, false, false}};
static_assert(std::size(kTypes) == kTypeCount + 1 && std::tuple_size_v<Types> == kTypeCount,
              "a new type needs a line here, and one in Types");

}  // namespace detail

/// Returns the Type of a C++ arithmetic type, by its size and signedness. Returns `custom` for every other type, also
/// for bool, char32_t and __int128, which is an integer with the compiler's extensions.
template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) {
    return Type::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return Type::float64;
  } else if constexpr (std::signed_integral<T> && !std::is_same_v<T, wchar_t> && sizeof(T) <= 8) {
    constexpr Type kBySize[] = {Type::int8, Type::int16, Type::int32, Type::int64};
    return kBySize[sizeof(T) == 8 ? 3 : sizeof(T) / 2];
  } else if constexpr (std::unsigned_integral<T> && sizeof(T) <= 8 && !std::is_same_v<T, bool> &&
                       !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>) {
    constexpr Type kBySize[] = {Type::uint8, Type::uint16, Type::uint32, Type::uint64};
    return kBySize[sizeof(T) == 8 ? 3 : sizeof(T) / 2];
  } else {
    return Type::custom;
  }
}

/// Returns whether bounds of lists may have this type.
constexpr bool is_list_bound(Type type) { return type == Type::int32 || type == Type::uint32 || type == Type::int64; }
constexpr bool is_signed(Type type) { return detail::kTypes[static_cast<int>(type)].is_signed; }
constexpr bool is_integer(Type type) { return detail::kTypes[static_cast<int>(type)].is_integer; }
constexpr bool is_float(Type type) { return type != Type::custom && !is_integer(type); }

/// Returns the bytes of one element; 0 for `custom`.
constexpr int size_of(Type type) { return detail::kTypes[static_cast<int>(type)].size; }

/// Returns the name of a type as NumPy spells it: "int32", "float64", ….
constexpr std::string_view name(Type type) { return detail::kTypes[static_cast<int>(type)].name; }

/// Returns the Type with that name, or nullopt if there is none.
constexpr std::optional<Type> parse_type(std::string_view text) {
  for (int i = 0; i < kTypeCount; ++i) {
    if (name(static_cast<Type>(i)) == text) return static_cast<Type>(i);
  }
  return std::nullopt;
}

/// Returns the default type of a sum of elements of `type`: int64, uint64, or the float type itself.
constexpr Type default_accumulator(Type type) {
  if (is_float(type)) return type;
  return is_signed(type) ? Type::int64 : Type::uint64;
}

/// Calls f(std::type_identity<T>{}) for the C++ type T of `type`, which must not be `custom`, and returns its result.
template <std::size_t kIndex = 0, class F>
constexpr auto visit_type(Type type, F&& f) -> decltype(f(std::type_identity<float>{})) {
  if constexpr (kIndex < std::tuple_size_v<Types>) {
    if (type == static_cast<Type>(kIndex)) return f(std::type_identity<std::tuple_element_t<kIndex, Types>>{});
    return visit_type<kIndex + 1>(type, f);
  } else {
    detail::no_such_value();
  }
}

}  // namespace upsweep
