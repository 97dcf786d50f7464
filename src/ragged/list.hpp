// SPDX-License-Identifier: Apache-2.0
// ragged/list.hpp: one list, what may be wrong with it, and offsets that stay wrong once they are.
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::ragged {

template <class T>
struct List {
  T start;
  T stop;

  /// Of a valid list: below 0 where it leaves int64.
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr std::int64_t length() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start));
  }
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr Code check(bool strict) const {
    if (stop < start) return Code::stop_before_start;
    if (strict && is_negative()) return Code::negative_start;
    return length() < 0 ? Code::overflow : Code::ok;
  }
  /// The length, or -1 for a bad list.
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr std::int64_t length_or_bad(bool strict) const {
    const std::int64_t valid = length();
    return stop < start || (strict && is_negative()) || valid < 0 ? -1 : valid;
  }

  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr bool is_negative() const {
    if constexpr (std::is_signed_v<T>) return start < 0;
    return false;
  }
};

/// Adds lengths; what is bad or leaves int64 is -1, and so is all that follows it. Associative: lengths are not
/// negative, so a sum of some of them leaves int64 only where the sum of all before does too.
struct Extend {
  UPSWEEP_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    const std::int64_t sum = Add{}(a, b);
    return (a | b | sum) < 0 ? -1 : sum;
  }
};

/// f(std::type_identity<T>{}) for the three types of bounds.
template <class F>
auto visit_bounds(Type type, F f) {
  if (type == Type::int32) return f(std::type_identity<std::int32_t>{});
  if (type == Type::uint32) return f(std::type_identity<std::uint32_t>{});
  return f(std::type_identity<std::int64_t>{});
}

}  // namespace upsweep::ragged
