// SPDX-License-Identifier: Apache-2.0
// core/visit.hpp: call a template with the C++ type that a Type names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// visit_type(t, f) is f(std::type_identity<T>{}) for the T that t names; t is not `custom`.
template <std::size_t kIndex = 0, class F>
constexpr auto visit_type(Type type, F&& f) -> decltype(f(std::type_identity<float>{})) {
  if constexpr (kIndex < std::tuple_size_v<Types>) {
    if (type == static_cast<Type>(kIndex)) return f(std::type_identity<std::tuple_element_t<kIndex, Types>>{});
    return visit_type<kIndex + 1>(type, f);
  } else {
    detail::no_such_value();
  }
}

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

}  // namespace upsweep
