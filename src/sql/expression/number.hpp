// SPDX-License-Identifier: Apache-2.0
// sql/expression/number.hpp: 128-bit integers, powers of ten, and quotients with a single rounding.
#pragma once

#include <cstdint>
#include <string>

#include "core/decimal.hpp"
#include "upsweep/table.hpp"

namespace upsweep::expression {

__extension__ using UInt128 = unsigned __int128;

inline constexpr int kMostDigits = 38;  ///< decimal digits that every 128-bit integer can hold
inline constexpr Int128 kInt128Max = static_cast<Int128>(~UInt128{0} >> 1);
inline constexpr Int128 kInt128Min = -kInt128Max - 1;

/// Returns 10^exponent, for exponents from 0 to 38.
constexpr Int128 power_of_ten(int exponent) { return upsweep::power_of_ten<Int128>(exponent); }

constexpr UInt128 magnitude(Int128 value) {
  return value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
}

/// Returns the double nearest to 10^tens · numerator / denominator, ties to even. The denominator is not zero; |tens|
/// <= 38.
double quotient(Int128 numerator, Int128 denominator, int tens = 0) noexcept;

/// Returns the double nearest to (high · 2^128 + low) / (count · 10^scale), ties to even. 0 < count, |high| <= count.
double average(Int128 low, std::int64_t high, std::int64_t count, int scale) noexcept;

/// Returns -1, 0 or 1 if a / 10^a_scale is less than, equal to or greater than b / 10^b_scale.
int compare(Int128 a, int a_scale, Int128 b, int b_scale) noexcept;

// A float64 exactly represents every integer up to 2^53, and 10^0 … 10^22. The quotient of two such values is rounded
// once.
inline constexpr int kExactBits = 53;
inline constexpr int kExactTens = 22;

/// The order of values. Floats are ordered as in PostgreSQL: NaN after all other values.
inline bool is_less(double a, double b) { return a < b || (b != b && a == a); }
template <class T>
bool is_less(const T& a, const T& b) {
  return a < b;
}

/// Returns value / 10^scale as the nearest double.
double to_double(Int128 value, int scale) noexcept;

/// Returns the value as decimal text: to_text(-1234, 2) is "-12.34".
std::string to_text(Int128 value, int scale = 0);

}  // namespace upsweep::expression
