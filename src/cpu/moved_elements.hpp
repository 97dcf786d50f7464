// SPDX-License-Identifier: Apache-2.0
// cpu/moved_elements.hpp: elements that are moved one by one, by their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "upsweep/detail/content_column.hpp"

namespace upsweep::cpu {

/// Calls f(std::integral_constant<int, kBytes>{}) for the size of a column's elements.
template <class F>
auto visit_moved_size(const ContentColumn& column, F f) {
  switch (column.element_size) {
    case 1:
      return f(std::integral_constant<int, 1>{});
    case 2:
      return f(std::integral_constant<int, 2>{});
    case 4:
      return f(std::integral_constant<int, 4>{});
    case 8:
      return f(std::integral_constant<int, 8>{});
    default:
      return f(std::integral_constant<int, 16>{});
  }
}

/// Copies element `from` of a column's content to element `to` of its output.
inline void move_element(const ContentColumn& column, std::int64_t from, std::int64_t to) {
  visit_moved_size(column, [&]<int kBytes>(std::integral_constant<int, kBytes>) {
    std::memcpy(static_cast<std::byte*>(column.out) + to * kBytes,
                static_cast<const std::byte*>(column.data) + from * kBytes, kBytes);
  });
}

}  // namespace upsweep::cpu
