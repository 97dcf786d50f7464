// SPDX-License-Identifier: Apache-2.0
// sql/expression/number.cpp: long division for quotients, and decimal text.
#include "sql/expression/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>

namespace upsweep::expression {
namespace {

// Integers up to this bound are exact doubles, and the quotient of two doubles is rounded once.
constexpr UInt128 kExact = UInt128{1} << kExactBits;
// A quotient of 55 bits or more, plus a mark for dropped bits, rounds correctly: a double has 53 bits.
constexpr int kQuotientBits = 57;

int bits_of(UInt128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value)));
}

/// 256 bits, the width of a product of two 128-bit integers.
struct UInt256 {
  UInt128 high;
  UInt128 low;
  auto operator<=>(const UInt256&) const = default;
};

UInt256 product(UInt128 a, UInt128 b) {
  constexpr UInt128 kLow = ~std::uint64_t{0};
  const UInt128 low = (a & kLow) * (b & kLow);
  const UInt128 cross = (a >> 64) * (b & kLow) + (low >> 64);
  const UInt128 other = (a & kLow) * (b >> 64) + (cross & kLow);
  return {(a >> 64) * (b >> 64) + (cross >> 64) + (other >> 64), (other << 64) | (low & kLow)};
}
int bits_of(const UInt256& value) { return value.high != 0 ? 128 + bits_of(value.high) : bits_of(value.low); }
UInt256 shifted(const UInt256& value, int bits) {
  if (bits == 0) return value;
  if (bits >= 128) return {value.low << (bits - 128), 0};
  return {(value.high << bits) | (value.low >> (128 - bits)), value.low << bits};
}
UInt256 difference(const UInt256& a, const UInt256& b) {
  return {a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low};
}

constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Returns n / d by long division, bit by bit, with the precision of a double.
double divided(UInt256 n, UInt256 d) {
  const int shift = bits_of(n) - bits_of(d);
  if (shift > 0) d = shifted(d, shift);
  if (shift < 0) n = shifted(n, -shift);
  std::uint64_t whole = 0;
  for (int bit = 0; bit < kQuotientBits; ++bit) {
    whole *= 2;
    if (n >= d) {
      n = difference(n, d);
      ++whole;
    }
    n = shifted(n, 1);
  }
  if (n != UInt256{}) whole |= 1;
  return std::ldexp(static_cast<double>(whole), shift - (kQuotientBits - 1));
}

}  // namespace

double quotient(Int128 numerator, Int128 denominator, int tens) noexcept {
  const UInt128 n = magnitude(numerator);
  const UInt128 d = magnitude(denominator);
  const double sign = (numerator < 0) != (denominator < 0) ? -1.0 : 1.0;
  if (n == 0) return 0;
  if (n <= kExact && d <= kExact && tens == 0) return sign * (static_cast<double>(n) / static_cast<double>(d));
  const auto up = static_cast<UInt128>(power_of_ten(std::max(tens, 0)));
  const auto down = static_cast<UInt128>(power_of_ten(std::max(-tens, 0)));
  return sign * divided(product(n, up), product(d, down));
}

double average(Int128 low, std::int64_t high, std::int64_t count, int scale) noexcept {
  if (high == 0) return quotient(low, count, -scale);
  // The magnitude of the sum in two's complement.
  UInt256 sum{static_cast<UInt128>(Int128{high} - (low < 0 ? 1 : 0)), static_cast<UInt128>(low)};
  const bool negative = static_cast<Int128>(sum.high) < 0;
  if (negative) sum = difference({}, sum);
  const double size = divided(sum, product(static_cast<UInt128>(count), static_cast<UInt128>(power_of_ten(scale))));
  return negative ? -size : size;
}

int compare(Int128 a, int a_scale, Int128 b, int b_scale) noexcept {
  if ((a < 0) != (b < 0)) return a < 0 ? -1 : 1;
  const int common = std::max(a_scale, b_scale);
  const UInt256 left = product(magnitude(a), static_cast<UInt128>(power_of_ten(common - a_scale)));
  const UInt256 right = product(magnitude(b), static_cast<UInt128>(power_of_ten(common - b_scale)));
  if (left == right) return 0;
  return (left < right) == (a >= 0) ? -1 : 1;
}

double to_double(Int128 value, int scale) noexcept {
  if (scale <= kExactTens && magnitude(value) <= kExact) {
    return static_cast<double>(static_cast<std::int64_t>(value)) / kTens[scale];
  }
  return quotient(value, power_of_ten(scale));
}

std::string to_text(Int128 value, int scale) {
  std::string digits = fmt::format("{:0{}}", magnitude(value), scale + 1);
  if (scale > 0) digits.insert(digits.size() - static_cast<std::size_t>(scale), 1, '.');
  return value < 0 ? "-" + digits : digits;
}

}  // namespace upsweep::expression
