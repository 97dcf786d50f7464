// SPDX-License-Identifier: Apache-2.0
// query/number.cpp: long division for quotients, and decimal text.
#include "query/number.hpp"

#include <algorithm>
#include <cmath>

namespace upsweep::query {
namespace {

// Integers up to here are doubles, and the quotient of two doubles is rounded once.
constexpr UInt128 kExact = UInt128{1} << 53;
// A quotient with so many bits and a mark for what was cut off rounds right: 53 bits of a double, and one more.
constexpr int kQuotientBits = 55;

}  // namespace

double quotient(Int128 numerator, Int128 denominator) noexcept {
  const UInt128 n = magnitude(numerator);
  const UInt128 d = magnitude(denominator);
  const double sign = (numerator < 0) != (denominator < 0) ? -1.0 : 1.0;
  if (n == 0) return 0;
  if (n <= kExact && d <= kExact) return sign * (static_cast<double>(n) / static_cast<double>(d));
  UInt128 whole = n / d;
  UInt128 rest = n % d;
  bool cut = false;
  int exponent = 0;
  while ((whole >> kQuotientBits) == 0) {
    rest *= 2;  // below 2^128, as the divisor is at most 2^127
    whole = whole * 2 + (rest >= d ? 1 : 0);
    if (rest >= d) rest -= d;
    --exponent;
  }
  while ((whole >> (kQuotientBits + 1)) != 0) {
    cut = cut || (whole & 1) != 0;
    whole >>= 1;
    ++exponent;
  }
  if (cut || rest != 0) whole |= 1;
  // 56 bits, the last of them the mark: one rounding, to 53.
  return sign * std::ldexp(static_cast<double>(static_cast<std::uint64_t>(whole)), exponent);
}

double to_double(Int128 value, int scale) noexcept { return quotient(value, power_of_ten(scale)); }

std::string to_text(Int128 value, int scale) {
  std::string digits;
  for (UInt128 rest = magnitude(value); rest != 0; rest /= 10)
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  while (static_cast<int>(digits.size()) <= scale) digits += '0';
  if (scale > 0) digits.insert(static_cast<std::size_t>(scale), 1, '.');
  if (value < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace upsweep::query
