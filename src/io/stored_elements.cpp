// SPDX-License-Identifier: Apache-2.0
// io/stored_elements.cpp: narrows decimals, and converts milliseconds to days and half floats to floats.
#include "io/stored_elements.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "upsweep/error.hpp"
#include "upsweep/interval.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kMilliseconds = 86400000;  // in a day
constexpr std::int64_t kNanosecondsOfMillisecond = 1'000'000;

template <std::size_t kWords>
using WideInteger = std::array<std::int64_t, kWords>;  // least significant word first

// Whether all words from `first` on only repeat the sign of the word before them.
template <std::size_t kWords>
bool is_sign(const WideInteger<kWords>& value, std::size_t first) {
  const std::int64_t sign = value[first - 1] >> 63;
  std::int64_t differs = 0;
  for (std::size_t i = first; i < kWords; ++i) differs |= value[i] ^ sign;
  return differs == 0;
}

// Calls one(from[i], to[i]) for each i; returns the first i for which it is false, or n. That i is searched for only if
// it exists: a loop without an exit is vectorized.
template <class From, class To, class One>
std::int64_t each(const std::uint8_t* from, std::int64_t n, void* to, One one) {
  const auto at = [=](std::int64_t i) {
    From value;
    std::memcpy(static_cast<void*>(&value), from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    return value;
  };
  bool all = true;
  for (std::int64_t i = 0; i < n; ++i) {
    To result;
    all &= one(at(i), result);
    std::memcpy(static_cast<char*>(to) + i * static_cast<std::int64_t>(sizeof result), &result, sizeof result);
  }
  if (all) return n;
  std::int64_t i = 0;
  for (To ignored; one(at(i), ignored);) ++i;
  return i;
}

// Narrows integers to their low words.
template <std::size_t kFrom, std::size_t kTo>
std::int64_t narrow(const std::uint8_t* from, std::int64_t n, void* to) {
  return each<WideInteger<kFrom>, WideInteger<kTo>>(from, n, to, [](const auto& value, auto& result) {
    std::memcpy(&result, &value, sizeof result);
    return is_sign(value, kTo);
  });
}

// Converts intervals that are stored as some parts.
template <class Parts>
std::int64_t join_parts(const std::uint8_t* from, std::int64_t n, void* to, Interval (*interval)(const Parts& parts)) {
  return each<Parts, Int128>(from, n, to, [interval](const Parts& parts, Int128& result) {
    const std::optional<Int128> element = element_of(interval(parts));
    result = element.value_or(0);
    return element.has_value();
  });
}

float float_of_half(std::uint16_t half) {
  constexpr int kInfinite = 31;
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 31U;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) return std::copysign(static_cast<float>(fraction) * 0x1p-24F, std::bit_cast<float>(sign));
  const std::uint32_t wide = exponent == kInfinite ? 255U : exponent + 127U - 15U;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace

std::int64_t convert_elements(Stored stored, std::int64_t width, const std::uint8_t* from, std::int64_t n, void* to) {
  constexpr std::int64_t kWord = sizeof(std::int64_t);
  if (stored == Stored::decimal32 && width == kWord) {
    return each<std::int32_t, std::int64_t>(from, n, to, [](std::int32_t value, std::int64_t& result) {
      result = value;
      return true;
    });
  }
  if (stored == Stored::decimal128 && width == kWord) return narrow<2, 1>(from, n, to);
  if (stored == Stored::decimal256 && width == kWord) return narrow<4, 1>(from, n, to);
  if (stored == Stored::decimal256) return narrow<4, 2>(from, n, to);
  if (stored == Stored::date64) {
    return each<std::int64_t, std::int32_t>(from, n, to, [](std::int64_t value, std::int32_t& result) {
      const std::int64_t days = value / kMilliseconds;
      result = static_cast<std::int32_t>(days);
      return days * kMilliseconds == value && result == days;
    });
  }
  if (stored == Stored::half_float) {
    return each<std::uint16_t, float>(from, n, to, [](std::uint16_t value, float& result) {
      result = float_of_half(value);
      return true;
    });
  }
  if (stored == Stored::months) {
    return join_parts<std::int32_t>(from, n, to, [](const std::int32_t& months) { return Interval{.months = months}; });
  }
  if (stored == Stored::days_and_milliseconds) {
    return join_parts<std::array<std::int32_t, 2>>(from, n, to, [](const auto& parts) {
      return Interval{.days = parts[0], .nanoseconds = parts[1] * kNanosecondsOfMillisecond};
    });
  }
  if (stored == Stored::interval) {
    return join_parts<Interval>(from, n, to, [](const Interval& interval) { return interval; });
  }
  if (stored == Stored::parquet_interval) {
    return join_parts<std::array<std::uint32_t, 3>>(from, n, to, [](const auto& parts) {
      return Interval{.months = static_cast<std::int32_t>(parts[0]),
                      .days = static_cast<std::int32_t>(parts[1]),
                      .nanoseconds = parts[2] * kNanosecondsOfMillisecond};
    });
  }
  std::memcpy(to, from, static_cast<std::size_t>(n * width));
  return n;
}

void throw_misfit(Stored stored, const std::string& name, std::int64_t row) {
  throw Error(Code::malformed,
              name + ": row " + std::to_string(row) +
                  (stored == Stored::date64   ? " is not a whole day, or too far away; convert the column to date32"
                   : stored >= Stored::months ? " is an interval of more than 8,388,607 months or 33,554,431 days"
                                              : " has more digits than its type allows; write the file again"),
              row);
}

}  // namespace upsweep::io
