// SPDX-License-Identifier: Apache-2.0
// core/visit.hpp: call a template with the C++ type that a Type names.
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// visit_type(t, f) is f(std::type_identity<T>{}) for the T that t names; t is not `custom`.
template <class F>
decltype(auto) visit_type(Type type, F&& f) {
  switch (type) {
    case Type::int8:
      return f(std::type_identity<std::int8_t>{});
    case Type::int16:
      return f(std::type_identity<std::int16_t>{});
    case Type::int32:
      return f(std::type_identity<std::int32_t>{});
    case Type::int64:
      return f(std::type_identity<std::int64_t>{});
    case Type::uint8:
      return f(std::type_identity<std::uint8_t>{});
    case Type::uint16:
      return f(std::type_identity<std::uint16_t>{});
    case Type::uint32:
      return f(std::type_identity<std::uint32_t>{});
    case Type::uint64:
      return f(std::type_identity<std::uint64_t>{});
    case Type::float32:
      return f(std::type_identity<float>{});
    case Type::float64:
      return f(std::type_identity<double>{});
    case Type::custom:
      break;
  }
  detail::no_such_value();
}

/// The same for the types that bounds of lists have.
template <class F>
decltype(auto) visit_list_bound(Type type, F&& f) {
  if (type == Type::int32) return f(std::type_identity<std::int32_t>{});
  if (type == Type::uint32) return f(std::type_identity<std::uint32_t>{});
  if (type == Type::int64) return f(std::type_identity<std::int64_t>{});
  detail::no_such_value();
}

}  // namespace upsweep
