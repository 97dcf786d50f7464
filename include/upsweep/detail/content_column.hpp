// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/content_column.hpp: a column of content whose elements are moved, for selections, takes and packs.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>

#include "upsweep/detail/arrays.hpp"

namespace upsweep {

namespace detail {

/// Sizes in bytes of elements that are moved, whatever their type.
inline constexpr int kMovedSizes[] = {1, 2, 4, 8, 16};
constexpr bool is_moved_size(std::size_t bytes) {
  for (const int size : kMovedSizes) {
    if (bytes == static_cast<std::size_t>(size)) return true;
  }
  return false;
}

/// An element that is moved only by its size.
template <class T>
concept MovedElement = std::is_trivially_copyable_v<T> && is_moved_size(sizeof(T));

template <class In, class Out>
constexpr void require_moved() {
  static_assert(MovedElement<ElementOf<In>>,
                "upsweep moves elements of 1, 2, 4, 8 or 16 bytes that are trivially copyable: move the members of "
                "other types as separate columns, or take positions");
  static_assert(std::same_as<ElementOf<In>, ElementOf<Out>>, "elements are moved to an array of the same type");
}

}  // namespace detail

/// A column of content and the output for its moved elements, as views without element types. The output must not
/// overlap any input.
struct ContentColumn {
  const void* data = nullptr;
  std::int64_t length = 0;  ///< elements of the content
  void* out = nullptr;
  std::int64_t capacity = 0;  ///< elements that `out` holds
  int element_size = 0;       ///< bytes: one of detail::kMovedSizes

  constexpr ContentColumn() = default;
  constexpr ContentColumn(const void* elements, std::int64_t n, void* to, std::int64_t elements_of_out, int bytes)
      : data(elements), length(n), out(to), capacity(elements_of_out), element_size(bytes) {}
  template <detail::MovedElement T>
  constexpr ContentColumn(const T* elements, std::int64_t n, T* to, std::int64_t elements_of_out)
      : ContentColumn(elements, n, to, elements_of_out, int{sizeof(T)}) {}
  /// Takes arrays, vectors and spans of one type.
  template <std::ranges::range In, std::ranges::range Out>
  constexpr ContentColumn(const In& elements, Out&& to)
      : ContentColumn(static_cast<const void*>(detail::data_of(elements)), detail::length_of(elements),
                      static_cast<void*>(detail::output_of(to)), detail::length_of(to),
                      int{sizeof(detail::ElementOf<In>)}) {
    detail::require_moved<In, Out>();
  }
  template <class... T>
    requires detail::HasFloat<T...>
  constexpr ContentColumn(const T&... /*arguments*/) {  // NOLINT(google-explicit-constructor): refused
    detail::refuse_float<T...>();
  }
};

}  // namespace upsweep
