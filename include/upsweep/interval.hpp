// SPDX-License-Identifier: Apache-2.0
// upsweep/interval.hpp: intervals of months, days and nanoseconds as elements of 128 bits.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <optional>

#include "upsweep/table.hpp"

namespace upsweep {

/// An interval as Arrow's month_day_nano. Months and days have no fixed length, so the parts are separate.
struct Interval {
  std::int32_t months = 0;
  std::int32_t days = 0;
  std::int64_t nanoseconds = 0;

  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

/// An element is length · 2^50 + (months + 2^23) · 2^26 + (days + 2^25). Its order is that of PostgreSQL: by length,
/// where a month counts as 30 days and a day as 24 hours. The one with more months is greater if lengths are equal.
inline constexpr int kIntervalPartBits = 50;
inline constexpr std::int32_t kMostIntervalMonths = (1 << 23) - 1;
inline constexpr std::int32_t kMostIntervalDays = (1 << 25) - 1;

/// Returns the length in nanoseconds: a month counts as 30 days, a day as 24 hours.
constexpr Int128 length_of(const Interval& interval) {
  constexpr std::int64_t kDay = 86'400'000'000'000;
  return (Int128{interval.months} * 30 + interval.days) * kDay + interval.nanoseconds;
}

/// Returns the element of an interval, or nothing if it has more than 8,388,607 months or 33,554,431 days.
constexpr std::optional<Int128> element_of(const Interval& interval) {
  const auto fits = [](std::int32_t part, std::int32_t most) { return part >= -most && part <= most; };
  if (!fits(interval.months, kMostIntervalMonths) || !fits(interval.days, kMostIntervalDays)) return std::nullopt;
  const Int128 months = Int128{interval.months} + kMostIntervalMonths + 1;
  const Int128 days = Int128{interval.days} + kMostIntervalDays + 1;
  return length_of(interval) * (Int128{1} << kIntervalPartBits) + months * (2 * (Int128{kMostIntervalDays} + 1)) + days;
}

/// Returns the interval of an element.
constexpr Interval interval_of(Int128 element) {
  const auto parts = static_cast<std::int64_t>(element & ((Int128{1} << kIntervalPartBits) - 1));
  const std::int64_t day_values = 2 * (std::int64_t{kMostIntervalDays} + 1);
  Interval interval{.months = static_cast<std::int32_t>(parts / day_values - kMostIntervalMonths - 1),
                    .days = static_cast<std::int32_t>(parts % day_values - kMostIntervalDays - 1)};
  interval.nanoseconds = static_cast<std::int64_t>((element >> kIntervalPartBits) - length_of(interval));
  return interval;
}

}  // namespace upsweep
