// SPDX-License-Identifier: Apache-2.0
// sql/expression/clock.hpp: timestamps, times of day and durations as numbers of seconds: parsing and formatting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sql/expression/number.hpp"
#include "upsweep/interval.hpp"

namespace upsweep::expression {

inline constexpr std::int64_t kDaySeconds = 86'400;

/// A number of seconds: count / 10^scale. The scale is 0, 3, 6 or 9.
struct Seconds {
  Int128 count = 0;
  int scale = 0;
};

struct Timestamp {
  Seconds since = {};       ///< 1970-01-01 00:00; in UTC if the text has an offset
  bool has_offset = false;  ///< the text ends in Z or in an offset such as +02:00
};

/// The text of INTERVAL '1 month 3 days 04:05:06'.
struct Span {
  std::int64_t months = 0;
  Seconds time = {};  ///< days have 24 hours
};

// A text with more than nine digits after the second is not parsed, except if the further digits are zeros.
/// Parses "2024-03-05 12:00:00.25", also with T between date and time, without a time, and with an offset.
std::optional<Timestamp> parse_timestamp(std::string_view text);
/// Parses "12:00" or "12:00:00.25".
std::optional<Seconds> parse_time(std::string_view text);
/// Parses numbers with their units, and a time at the end: "2 weeks", "1 day 12 hours", "-3 days 04:05:06.5". A number
/// without a unit has `unit`. Returns nothing for a text that is not an interval, and for one that is too long.
std::optional<Span> parse_span(std::string_view text, std::string_view unit = "");

/// Returns "2024-03-05 12:00:00.25", followed by Z if `in_utc`. `between` separates date and time.
std::string timestamp_text(Seconds since, bool in_utc, char between = ' ');
/// Returns "12:00:00.25".
std::string time_text(Seconds since_midnight);
/// Returns "3 days 04:05:06.5". Both parts of a negative duration have a sign: "-3 days -04:05:06.5".
std::string duration_text(Seconds duration);
/// Returns the duration in ISO 8601: "P3DT4H5M6.5S".
std::string iso_duration_text(Seconds duration);
/// Returns "1 year 2 months 3 days 04:05:06.5". Every negative part has a sign.
std::string interval_text(const Interval& interval);
/// Returns the interval in ISO 8601: "P1Y2M3DT4H5M6.5S". Every negative part has a sign.
std::string iso_interval_text(const Interval& interval);
/// Returns the element of a column of intervals that is equal to a span, or nothing if that is too long.
std::optional<Int128> interval_element(const Span& span);

}  // namespace upsweep::expression
