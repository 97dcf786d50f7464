// SPDX-License-Identifier: Apache-2.0
// core/visit.hpp: calls a template with every C++ type of Type, or the type of list bounds; with one: types.hpp.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// Calls f(std::type_identity<T>{}) for every T.
template <class F>
constexpr void for_each_type(F&& f) {
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    (f(std::type_identity<T>{}), ...);
  }(std::type_identity<Types>{});
}

/// Calls f(std::type_identity<T>{}) for the T that `type` names, one of the types of list bounds.
template <class F>
decltype(auto) visit_list_bound(Type type, F&& f) {
  if (type == Type::int32) return f(std::type_identity<std::int32_t>{});
  if (type == Type::uint32) return f(std::type_identity<std::uint32_t>{});
  if (type == Type::int64) return f(std::type_identity<std::int64_t>{});
  detail::no_such_value();
}

/// The type as which Op combines elements of type T. For integers it is the unsigned type of the same size, except for
/// min and max. The bits are equal modulo 2^bits, and one instantiation serves both types.
template <class T, class Op>
using CombinedAs = typename std::conditional_t<std::is_integral_v<T> && !Op::kSelects, std::make_unsigned<T>,
                                               std::type_identity<T>>::type;

/// Calls f(std::type_identity<CombinedAs<T, Op>>{}, op) for the T and the Op that `type` and `op` name; op is not
/// `custom`.
template <class F>
void visit_combined(Type type, Operator op, F&& f) {
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    visit_operator<T>(op, [&]<class Op>(Op each) { f(std::type_identity<CombinedAs<T, Op>>{}, each); });
  });
}

}  // namespace upsweep
