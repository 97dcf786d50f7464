// SPDX-License-Identifier: Apache-2.0
// plan/types.hpp: the C++ types of plan::ElementType.
#pragma once

#include <type_traits>

#include "upsweep/detail/unreachable.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::detail {

/// Calls f(std::type_identity<T>{}) for the C++ type of `type`: bool for booleans.
template <class F>
auto visit_element(ElementType type, F&& f) -> decltype(f(std::type_identity<double>{})) {
  switch (type) {
    case ElementType::int8:
      return f(std::type_identity<std::int8_t>{});
    case ElementType::int16:
      return f(std::type_identity<std::int16_t>{});
    case ElementType::int32:
      return f(std::type_identity<std::int32_t>{});
    case ElementType::int64:
      return f(std::type_identity<std::int64_t>{});
    case ElementType::uint8:
      return f(std::type_identity<std::uint8_t>{});
    case ElementType::uint16:
      return f(std::type_identity<std::uint16_t>{});
    case ElementType::uint32:
      return f(std::type_identity<std::uint32_t>{});
    case ElementType::uint64:
      return f(std::type_identity<std::uint64_t>{});
    case ElementType::float32:
      return f(std::type_identity<float>{});
    case ElementType::float64:
      return f(std::type_identity<double>{});
    case ElementType::boolean:
      return f(std::type_identity<bool>{});
  }
  upsweep::detail::no_such_value();
}

constexpr bool is_float(ElementType type) { return type == ElementType::float32 || type == ElementType::float64; }
constexpr bool is_integer(ElementType type) { return type != ElementType::boolean && !is_float(type); }
constexpr bool is_signed(ElementType type) { return type <= ElementType::int64; }

}  // namespace upsweep::plan::detail
