// SPDX-License-Identifier: Apache-2.0
// core/visit.hpp: call a template with the C++ type that a Type names, or the function object of an Operator.
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"
#include "upsweep/operators.hpp"
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

/// visit_operator<T>(op, f) is f of the operator on elements of type T; op is one that T has, not `custom`.
template <class T, class F>
constexpr decltype(auto) visit_operator(Operator op, F&& f) {
  switch (op) {
    case Operator::add:
      return f(Add{});
    case Operator::mul:
      return f(Mul{});
    case Operator::min:
      return f(Min{});
    case Operator::max:
      return f(Max{});
    case Operator::bit_and:
      if constexpr (std::is_integral_v<T>) return f(BitAnd{});
      break;
    case Operator::bit_or:
      if constexpr (std::is_integral_v<T>) return f(BitOr{});
      break;
    case Operator::bit_xor:
      if constexpr (std::is_integral_v<T>) return f(BitXor{});
      break;
    case Operator::custom:
      break;
  }
  detail::no_such_value();
}

namespace detail {

constexpr bool visits_what_it_names() {
  for (int i = 0; i < kOperatorCount; ++i) {
    const auto visit = []<class Op>(Op) { return operator_of<Op, int>(); };
    if (visit_operator<int>(static_cast<Operator>(i), visit) != static_cast<Operator>(i)) return false;
  }
  return true;
}
static_assert(visits_what_it_names(), "operator_of() does not know a function object");

}  // namespace detail

}  // namespace upsweep
