// SPDX-License-Identifier: Apache-2.0
// core/decimal.hpp: exact decimal numbers as integers scaled by a power of ten, and numbers with an exponent.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace upsweep {

/// A number as text: for "-12.50" the sign, "12" and "50".
struct WrittenNumber {
  bool negative = false;
  std::string_view whole;     ///< digits before the point; may be empty
  std::string_view decimals;  ///< digits after it; empty without a point
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Splits a number: an optional sign, digits, and after a point at least one digit. Nothing more is allowed, not even
/// blanks. `point` is the character before decimals. Returns false if the text is not such a number.
constexpr bool split_number(std::string_view text, WrittenNumber& number, char point = '.') {
  const bool has_sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  number.negative = has_sign && text[0] == '-';
  const auto digits = [end = text.data() + text.size()](const char* first) {
    const char* last = first;
    while (last < end && is_digit(*last)) ++last;
    return std::string_view(first, static_cast<std::size_t>(last - first));
  };
  number.whole = digits(text.data() + (has_sign ? 1 : 0));
  number.decimals = {};
  const std::string_view rest = text.substr((has_sign ? 1 : 0) + number.whole.size());
  if (rest.empty()) return !number.whole.empty();
  if (rest[0] != point) return false;
  number.decimals = digits(rest.data() + 1);
  return rest.size() > 1 && number.decimals.size() == rest.size() - 1;
}

template <class Int>
constexpr Int power_of_ten(int exponent) {
  Int power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

/// Computes number · 10^scale. Returns false if that is not an integer, or does not fit `Int`.
template <class Int>
constexpr bool scaled_by(const WrittenNumber& number, int scale, Int& value) {
  const auto places = static_cast<std::size_t>(scale);
  std::string_view decimals = number.decimals;
  while (decimals.size() > places && decimals.back() == '0') decimals.remove_suffix(1);
  if (decimals.size() > places) return false;
  value = 0;
  bool fits = true;
  // Accumulates with the number's sign, so that the smallest integer is also accepted.
  const auto append = [&](int digit) {
    fits = fits && !__builtin_mul_overflow(value, Int{10}, &value) &&
           !__builtin_add_overflow(value, static_cast<Int>(number.negative ? -digit : digit), &value);
  };
  for (const char digit : number.whole) append(digit - '0');
  for (const char digit : decimals) append(digit - '0');
  for (std::size_t i = decimals.size(); fits && i < places && value != 0; ++i) append(0);
  return fits;
}

/// Returns whether a number without a sign, such as "0.5e-400", is below 1.
inline bool is_below_one(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  // The number of digits from the first nonzero digit up to the point. If that digit is after the point: minus the
  // zeros between them.
  const auto places = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) + (first > point ? 1 : 0);
  std::string_view exponent = number.substr(std::min(mark + 1, number.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t value = 0;
  const auto error = std::from_chars(exponent.data(), exponent.data() + exponent.size(), value).ec;
  if (error == std::errc::result_out_of_range) return exponent.starts_with('-');
  return value <= -places;
}

/// Returns the float64 nearest to a number without a sign: 0 if the number is too small, infinity if it is too large.
/// The number may be "nan", "inf" or "infinity", in any case. Returns nothing if the text is not a number.
inline std::optional<double> parse_float64(std::string_view number) {
  if (number.starts_with('-')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end != number.data() + number.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  return is_below_one(number) ? 0 : std::numeric_limits<double>::infinity();
}

}  // namespace upsweep
