// SPDX-License-Identifier: Apache-2.0
// io/csv_times.hpp: dates, times of day and timestamps as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace upsweep::io {

/// The order of year, month and day. The values are bits of a set.
enum DateOrder : std::uint8_t { year_month_day = 1, day_month_year = 2, month_day_year = 4, any_order = 7 };

/// A date, a time of day, or both.
struct Moment {
  bool has_date = false;
  bool has_time = false;
  std::uint8_t orders = any_order;  ///< in which the date exists
  int year = 0;
  unsigned first = 0;  ///< the month, or, if the day is written before it, the day
  unsigned second = 0;
  std::int64_t nanoseconds = 0;    ///< since midnight
  int digits = 0;                  ///< after the second, without zeros at the end
  std::optional<int> offset = {};  ///< minutes east of UTC
};

/// Parses a text without blanks around it. Returns false if it is none of these:
///   - a date: 2017-01-31, 31/01/2017, 1/31/2017, 31.1.2017, 31 Jan 2017 or January 31, 2017
///   - a time of day: 9:30, 09:30:15.250 or 9:30 PM
///   - a date and a time, separated by a blank or T, also with Z or an offset from UTC
bool parse_moment(std::string_view text, Moment& moment);

/// Parses a text in a format of strftime. The codes are %Y %y %m %d %b %B %j %H %I %M %S %f %p %z and %%. A blank
/// stands for any number of blanks.
bool parse_moment(std::string_view text, std::string_view format, Moment& moment);

/// Returns why a format cannot be used; an empty text if it can.
std::string_view fault_of_format(std::string_view format);

/// Returns the days since 1970-01-01 of the date, in an order that `moment.orders` contains.
std::int64_t days_of(const Moment& moment, DateOrder order);

}  // namespace upsweep::io
