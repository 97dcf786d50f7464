// SPDX-License-Identifier: Apache-2.0
// sql/expression/clock.cpp: reads and writes seconds exactly, as integers.
#include "sql/expression/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "core/ascii.hpp"
#include "sql/expression/date.hpp"

namespace upsweep::expression {
namespace {

constexpr int kFinestScale = 9;  // nanoseconds
constexpr int kPlacesOfUnit = 3;
constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
// A longer interval is longer than the time between the first and the last date.
constexpr std::int64_t kMostOfUnit = std::int64_t{1} << 40;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes a prefix of `text` if it is there, and returns whether it was.
bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// Removes a number of `least` to `most` digits from the beginning of `text`.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  std::int64_t value = 0;
  if (digits.size() < least || digits.size() > most) return std::nullopt;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  text.remove_prefix(digits.size());
  return value;
}

/// Returns the digits after the point as a number with the smallest scale that holds them.
std::optional<Seconds> fraction_of(std::string_view digits) {
  digits = digits.substr(0, digits.find_last_not_of('0') + 1);
  if (digits.size() > kFinestScale) return std::nullopt;
  const int scale = (static_cast<int>(digits.size()) + kPlacesOfUnit - 1) / kPlacesOfUnit * kPlacesOfUnit;
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return Seconds{value * power_of_ten(scale - static_cast<int>(digits.size())), scale};
}

/// Removes ".25" from the beginning of `text`.
std::optional<Seconds> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return Seconds{};
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits.empty() ? std::nullopt : fraction_of(digits);
}

Seconds sum(Seconds a, Seconds b) {
  const int scale = std::max(a.scale, b.scale);
  return {a.count * power_of_ten(scale - a.scale) + b.count * power_of_ten(scale - b.scale), scale};
}

/// Removes "12:00", "12:00:00" or "12:00:00.25". The number of hours is less than 24 only for a time of day.
std::optional<Seconds> take_time(std::string_view& text, bool is_of_day) {
  const auto hour = take_digits(text, 1, is_of_day ? 2 : kFinestScale);
  if (!hour || (is_of_day && *hour > 23) || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2, 2);
  if (!minute || *minute > 59) return std::nullopt;
  const Seconds minutes{*hour * kHour + *minute * kMinute, 0};
  if (!take(text, ':')) return minutes;
  const auto second = take_digits(text, 2, 2);
  if (!second || *second > 59) return std::nullopt;
  const auto fraction = take_fraction(text);
  return fraction ? std::optional(sum(sum(minutes, {*second, 0}), *fraction)) : std::nullopt;
}

/// Parses "Z", "+02", "+0200" or "+02:00" as seconds to add to UTC.
std::optional<std::int64_t> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  const bool is_negative = text.starts_with('-');
  if (!take(text, is_negative ? '-' : '+')) return std::nullopt;
  const auto hour = take_digits(text, 2, 4);
  if (!hour) return std::nullopt;
  std::int64_t hours = *hour;
  std::int64_t minutes = 0;
  if (hours > 99) {
    minutes = hours % 100;
    hours /= 100;
  } else if (take(text, ':')) {
    const auto minute = take_digits(text, 2, 2);
    if (!minute) return std::nullopt;
    minutes = *minute;
  }
  if (!text.empty() || hours > 23 || minutes > 59) return std::nullopt;
  const std::int64_t offset = hours * kHour + minutes * kMinute;
  return is_negative ? -offset : offset;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

struct Unit {
  std::string_view names;  ///< separated by blanks
  std::int64_t months;     ///< 0: the unit is a number of seconds / 10^scale
  std::int64_t seconds;
  int scale = 0;
};
constexpr Unit kUnits[] = {{" year y yr ", 12, 0},
                           {" month mon ", 1, 0},
                           {" week w ", 0, 7 * kDaySeconds},
                           {" day d ", 0, kDaySeconds},
                           {" hour h hr ", 0, kHour},
                           {" minute min m ", 0, kMinute},
                           {" second sec s ", 0, 1},
                           {" millisecond ms msec ", 0, 1, 3},
                           {" microsecond us usec ", 0, 1, 6},
                           {" nanosecond ns nsec ", 0, 1, 9}};

const Unit* unit_named(std::string_view name) {
  std::string word = lower_case(name);
  const auto find = [&] {
    return std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& unit) {
      return unit.names.find(fmt::format(" {} ", word)) != std::string_view::npos;
    });
  };
  auto found = find();
  if (found == std::end(kUnits) && word.size() > 1 && word.back() == 's') {
    word.pop_back();
    found = find();
  }
  return found == std::end(kUnits) || word.empty() ? nullptr : found;
}

/// Adds `whole`.`fraction` times a unit to a span.
bool add(Span& span, std::int64_t whole, Seconds fraction, bool is_negative, const Unit& unit) {
  const std::int64_t sign = is_negative ? -1 : 1;
  if (whole > kMostOfUnit) return false;
  if (unit.months != 0) {
    span.months += sign * whole * unit.months;
    return fraction.count == 0 && std::max(span.months, -span.months) <= kMostOfUnit;
  }
  Int128 count = fraction.count * unit.seconds;
  int scale = fraction.scale + unit.scale;
  for (; scale > kFinestScale && count % 10 == 0; --scale) count /= 10;
  for (; scale > 0 && scale % kPlacesOfUnit != 0; ++scale) count *= 10;
  if (scale > kFinestScale) return false;
  span.time = sum(span.time, {sign * Int128{whole} * unit.seconds, unit.scale});
  span.time = sum(span.time, {sign * count, scale});
  return true;
}

/// The parts of a number of seconds.
struct Parts {
  bool is_negative;
  UInt128 days;
  int hours;
  int minutes;
  int seconds;
  std::string fraction;  ///< ".25", or empty
};

Parts parts_of(Seconds all) {
  const UInt128 size = magnitude(all.count);
  const auto unit = static_cast<UInt128>(power_of_ten(all.scale));
  const UInt128 whole = size / unit;
  const auto of_day = static_cast<int>(whole % kDaySeconds);
  Parts parts{.is_negative = all.count < 0,
              .days = whole / kDaySeconds,
              .hours = static_cast<int>(of_day / kHour),
              .minutes = static_cast<int>(of_day % kHour / kMinute),
              .seconds = static_cast<int>(of_day % kMinute)};
  if (size % unit != 0) {
    parts.fraction = fmt::format(".{:0{}}", static_cast<std::uint64_t>(size % unit), all.scale);
    parts.fraction.resize(parts.fraction.find_last_not_of('0') + 1);
  }
  return parts;
}

std::string clock_text(const Parts& parts) {
  return fmt::format("{:02}:{:02}:{:02}{}", parts.hours, parts.minutes, parts.seconds, parts.fraction);
}

}  // namespace

std::optional<Timestamp> parse_timestamp(std::string_view text) {
  text = trimmed(text);
  const std::size_t date_size = std::min(text.find_first_of("Tt "), text.size());
  const auto days = parse_date(text.substr(0, date_size));
  if (!days) return std::nullopt;
  text.remove_prefix(date_size);
  Timestamp all{.since = {Int128{*days} * kDaySeconds, 0}};
  if (text.empty()) return all;
  text.remove_prefix(1);
  const auto time = take_time(text, true);
  if (!time) return std::nullopt;
  all.since = sum(all.since, *time);
  text = trimmed(text);
  if (text.empty()) return all;
  const auto offset = parse_offset(text);
  if (!offset) return std::nullopt;
  all.since = sum(all.since, {-*offset, 0});
  all.has_offset = true;
  return all;
}

std::optional<Seconds> parse_time(std::string_view text) {
  text = trimmed(text);
  const auto time = take_time(text, true);
  return text.empty() ? time : std::nullopt;
}

std::optional<Span> parse_span(std::string_view text, std::string_view unit) {
  Span all;
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  for (; !text.empty(); text = trimmed(text)) {
    const bool is_negative = take(text, '-');
    if (!is_negative) (void)take(text, '+');
    std::string_view rest = text;
    if (const auto time = take_time(rest, false)) {
      all.time = sum(all.time, {is_negative ? -time->count : time->count, time->scale});
      return rest.empty() ? std::optional(all) : std::nullopt;
    }
    const auto whole = take_digits(text, 1, 12);
    const auto fraction = whole ? take_fraction(text) : std::nullopt;
    if (!fraction) return std::nullopt;
    text = trimmed(text);
    const auto end = std::find_if_not(text.begin(), text.end(), is_ascii_letter);
    std::string_view name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(name.size());
    if (name.empty() && text.empty()) name = unit;
    const Unit* const found = unit_named(name);
    if (found == nullptr || !add(all, *whole, *fraction, is_negative, *found)) return std::nullopt;
  }
  return all;
}

std::string timestamp_text(Seconds since, bool in_utc, char between) {
  const Int128 day = kDaySeconds * power_of_ten(since.scale);
  const Int128 days = since.count / day - (since.count % day < 0 ? 1 : 0);
  const Parts parts = parts_of({since.count - days * day, since.scale});
  return fmt::format("{}{}{}{}", date_text(static_cast<std::int64_t>(days)), between, clock_text(parts),
                     in_utc ? "Z" : "");
}

std::string time_text(Seconds since_midnight) {
  Parts parts = parts_of(since_midnight);
  parts.hours += static_cast<int>(parts.days) * 24;  // a file may have 24:00
  return (parts.is_negative ? "-" : "") + clock_text(parts);
}

std::string duration_text(Seconds duration) {
  const Parts parts = parts_of(duration);
  const char* const sign = parts.is_negative ? "-" : "";
  const std::string clock = clock_text(parts);
  if (parts.days == 0) return sign + clock;
  const std::string days =
      fmt::format("{}{} {}", sign, to_text(static_cast<Int128>(parts.days)), parts.days == 1 ? "day" : "days");
  return clock == "00:00:00" ? days : fmt::format("{} {}{}", days, sign, clock);
}

std::string iso_duration_text(Seconds duration) {
  const Parts parts = parts_of(duration);
  std::string text = parts.is_negative ? "-P" : "P";
  if (parts.days != 0) text += to_text(static_cast<Int128>(parts.days)) + "D";
  std::string time;
  if (parts.hours != 0) time += fmt::format("{}H", parts.hours);
  if (parts.minutes != 0) time += fmt::format("{}M", parts.minutes);
  if (parts.seconds != 0 || !parts.fraction.empty()) time += fmt::format("{}{}S", parts.seconds, parts.fraction);
  if (!time.empty()) return text + "T" + time;
  return parts.days != 0 ? text : text + "T0S";
}

std::string interval_text(const Interval& interval) {
  std::string text;
  const auto add_part = [&](std::int32_t count, std::string_view unit) {
    if (count == 0) return;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : " ", count, unit, count == 1 || count == -1 ? "" : "s");
  };
  add_part(interval.months / 12, "year");
  add_part(interval.months % 12, "month");
  add_part(interval.days, "day");
  if (interval.nanoseconds == 0 && !text.empty()) return text;
  return fmt::format("{}{}{}", text, text.empty() ? "" : " ", time_text({interval.nanoseconds, kFinestScale}));
}

std::string iso_interval_text(const Interval& interval) {
  std::string text = "P";
  const auto add_part = [&](std::int64_t count, char unit) {
    if (count != 0) text += fmt::format("{}{}", count, unit);
  };
  add_part(interval.months / 12, 'Y');
  add_part(interval.months % 12, 'M');
  add_part(interval.days, 'D');
  const Parts time = parts_of({interval.nanoseconds, kFinestScale});
  const std::string_view sign = time.is_negative ? "-" : "";
  const std::int64_t hours = static_cast<std::int64_t>(time.days) * 24 + time.hours;
  if (interval.nanoseconds != 0) text += 'T';
  add_part(time.is_negative ? -hours : hours, 'H');
  add_part(time.is_negative ? -time.minutes : time.minutes, 'M');
  if (time.seconds != 0 || !time.fraction.empty()) text += fmt::format("{}{}{}S", sign, time.seconds, time.fraction);
  return text == "P" ? "PT0S" : text;
}

std::optional<Int128> interval_element(const Span& span) {
  const Int128 nanoseconds = span.time.count * power_of_ten(kFinestScale - span.time.scale);
  const Int128 day = kDaySeconds * power_of_ten(kFinestScale);
  const Int128 days = nanoseconds / day;
  const bool fits = magnitude(span.months) <= kMostIntervalMonths && magnitude(days) <= kMostIntervalDays;
  if (!fits) return std::nullopt;
  return element_of({static_cast<std::int32_t>(span.months), static_cast<std::int32_t>(days),
                     static_cast<std::int64_t>(nanoseconds % day)});
}

}  // namespace upsweep::expression
