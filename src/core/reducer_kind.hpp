// SPDX-License-Identifier: Apache-2.0
// core/reducer_kind.hpp: what the reducers of lists have in common, so that code asks for that and names none of them by hand.
#pragma once

#include <cstdint>

#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep {

enum class ReducerKind : std::uint8_t {
  fold,      ///< elements are combined by an operator
  boolean,   ///< any, all: of whether elements are not zero
  nonzero,   ///< how many are not zero
  length,    ///< how many there are: elements are not read
  position,  ///< where the smallest or greatest one is
};

/// A reducer that is not listed here does not compile.
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
