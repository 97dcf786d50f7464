// SPDX-License-Identifier: Apache-2.0
// core/reducer_kind.hpp: the kinds of list reducers, so that code asks for a kind and does not list reducers.
#pragma once

#include <cstdint>

#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep {

enum class ReducerKind : std::uint8_t {
  fold,      ///< elements are combined by an operator
  boolean,   ///< any, all: depends on whether elements are not zero
  nonzero,   ///< the number of elements that are not zero
  length,    ///< the number of elements; elements are not read
  position,  ///< the position of the minimum or maximum
};

/// Returns the kind of a reducer. A reducer that is not listed here does not compile.
constexpr ReducerKind kind_of(Reducer reducer) {
  switch (reducer) {
    case Reducer::fold:
      return ReducerKind::fold;
    case Reducer::any:
    case Reducer::all:
      return ReducerKind::boolean;
    case Reducer::count_nonzero:
      return ReducerKind::nonzero;
    case Reducer::count:
      return ReducerKind::length;
    case Reducer::argmin:
    case Reducer::argmax:
      return ReducerKind::position;
  }
  detail::no_such_value();
}

}  // namespace upsweep
