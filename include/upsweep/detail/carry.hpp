// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/carry.hpp: the carry of a scan, which the work on one block passes to the next, at every scale.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "upsweep/operators.hpp"

namespace upsweep {

namespace detail {

/// Checks the requirements on elements that are computed with.
template <class T>
constexpr bool check_element() {
  static_assert(std::is_trivially_copyable_v<T>, "upsweep moves elements as bytes: they must be trivially copyable");
  static_assert(std::is_default_constructible_v<T>, "elements must have a default constructor");
  static_assert(std::is_copy_assignable_v<T>, "elements must be assignable, so they have no const or reference member");
  return true;
}

}  // namespace detail

/// The complete state of a scan or a reduction after the elements before a point. It consists of plain bytes, to be
/// copied, stored, sent and merged in order. Threads, cache blocks, chunks and machines all pass this one state.
template <class T>
struct ScanCarry {
  static_assert(detail::check_element<T>());

  T total;  ///< x0 ⊕ … ⊕ xi, meaningful where `any`
  T lost;   ///< float addition: what rounding took from `total` so far (0 for everything else)
  /// Checked sums of integers: how many times 2^bits the true sum exceeds `total`; not 0 means that the sum does not
  /// fit. Products of floats: the product is total · 2^wraps; 0 if `total` can hold it. Other operations: 0.
  std::int64_t wraps;
  bool any;  ///< false: no element precedes
};

namespace detail {

template <class T>
inline constexpr bool is_compensated = std::is_floating_point_v<T>;

/// The carry as one value.
template <class T>
constexpr T value_of(const ScanCarry<T>& carry) {
  if constexpr (is_compensated<T>) {
    if (carry.wraps != 0) return std::scalbln(carry.total, static_cast<long>(carry.wraps));
    return carry.lost != 0 ? carry.total + carry.lost : carry.total;  // keeps the sign of a -0.0 total
  } else {
    return carry.total;
  }
}

/// Computes a + b and the rounding error of that sum (Knuth's TwoSum). Infinities and NaN keep no error.
template <class T>
void add_compensated(ScanCarry<T>& left, const ScanCarry<T>& right) {
  const T sum = left.total + right.total;
  const T added = sum - left.total;
  const T error = (left.total - (sum - added)) + (right.total - added);
  left.lost = std::isfinite(sum) ? left.lost + right.lost + error : T{0};
  left.total = sum;
}

template <class T>
void add_counting_wraps(ScanCarry<T>& left, const ScanCarry<T>& right) {
  const bool wrapped = __builtin_add_overflow(left.total, right.total, &left.total);
  left.wraps += right.wraps + (wrapped ? (right.total < T{0} ? -1 : 1) : 0);
}

/// Stores the product as one number if that is normal, 0, infinite or NaN; otherwise as a number in [1/2, 1) and an
/// exponent.
template <class T>
void settle(ScanCarry<T>& product) {
  using Limits = std::numeric_limits<T>;
  if (product.total == 0 || !std::isfinite(product.total)) {
    product.wraps = 0;
    return;
  }
  int exponent = 0;
  product.total = std::frexp(product.total, &exponent);
  product.wraps += exponent;
  if (product.wraps < Limits::min_exponent || product.wraps > Limits::max_exponent) return;
  product.total = std::scalbln(product.total, static_cast<long>(product.wraps));
  product.wraps = 0;
}

/// Scales, so that only the product of all elements can be too large or too small, not a partial product.
template <class T>
void multiply_scaled(ScanCarry<T>& left, const ScanCarry<T>& right) {
  const T product = left.total * right.total;
  if (std::isnormal(product) && left.wraps == 0 && right.wraps == 0) {
    left.total = product;
    return;
  }
  int left_exponent = 0;
  int right_exponent = 0;
  left.total = std::frexp(left.total, &left_exponent) * std::frexp(right.total, &right_exponent);
  left.wraps += right.wraps + left_exponent + right_exponent;
  settle(left);
}

/// left ← left ⊕ right, where right's elements follow left's.
template <class T, class Op>
void merge(const Op& op, ScanCarry<T>& left, const ScanCarry<T>& right) {
  if (!right.any) return;
  if (!left.any) {
    left = right;
    return;
  }
  constexpr bool kAdds = operator_of<Op, T>() == Operator::add;
  constexpr bool kMultiplies = operator_of<Op, T>() == Operator::mul;
  if constexpr (kAdds && is_compensated<T>) {
    add_compensated(left, right);
  } else if constexpr (kAdds && std::is_integral_v<T>) {
    add_counting_wraps(left, right);
  } else if constexpr (kMultiplies && std::is_floating_point_v<T>) {
    multiply_scaled(left, right);
  } else {
    left.total = static_cast<T>(wrapping<T>(op)(left.total, right.total));
  }
}

}  // namespace detail

/// The carry of no elements, and the carry of an initial value.
template <class T>
constexpr ScanCarry<T> empty_carry() {
  return {T{}, T{}, 0, false};
}
template <class T>
constexpr ScanCarry<T> carry_of(T init) {
  return {init, T{}, 0, true};
}

}  // namespace upsweep
