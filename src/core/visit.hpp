// SPDX-License-Identifier: Apache-2.0
// core/visit.hpp: call a template with every C++ type that a Type names, or those of bounds of lists; with one: types.hpp.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// f(std::type_identity<T>{}) for every T.
template <class F>
constexpr void for_each_type(F&& f) {
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    (f(std::type_identity<T>{}), ...);
  }(std::type_identity<Types>{});
}

/// The same for the types that bounds of lists have.
template <class F>
decltype(auto) visit_list_bound(Type type, F&& f) {
  if (type == Type::int32) return f(std::type_identity<std::int32_t>{});
  if (type == Type::uint32) return f(std::type_identity<std::uint32_t>{});
  if (type == Type::int64) return f(std::type_identity<std::int64_t>{});
  detail::no_such_value();
}

/// The type as which Op combines elements of type T. For integers it is the unsigned type of their size, except for min and
/// max: the bits are equal modulo 2^bits, and one instantiation serves both types.
template <class T, class Op>
using CombinedAs = typename std::conditional_t<std::is_integral_v<T> && !Op::kSelects, std::make_unsigned<T>,
                                               std::type_identity<T>>::type;

/// f(std::type_identity<CombinedAs<T, Op>>{}, op) for the T and the Op that `type` and `op` name; op is not `custom`.
template <class F>
void visit_combined(Type type, Operator op, F&& f) {
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    visit_operator<T>(op, [&]<class Op>(Op each) { f(std::type_identity<CombinedAs<T, Op>>{}, each); });
  });
}

}  // namespace upsweep
