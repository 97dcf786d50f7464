// SPDX-License-Identifier: Apache-2.0
// sql/expression/date.cpp: the proleptic Gregorian calendar, by std::chrono.
#include "sql/expression/date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "sql/expression/caret.hpp"

namespace upsweep::expression {
namespace {

std::chrono::year_month_day civil(std::int64_t days) { return std::chrono::sys_days(std::chrono::days(days)); }

}  // namespace

std::optional<int> parse_date(std::string_view date) {
  int field[3] = {0, 0, 0};
  const char* at = date.data();
  const char* const end = at + date.size();
  bool right = true;
  for (int i = 0; i < 3 && right; ++i) {
    const auto [stopped, error] = std::from_chars(at, end, field[i]);
    right = error == std::errc() && stopped > at && *at != '-' &&
            (i == 2 ? stopped == end : stopped < end && *stopped == '-');
    at = right ? stopped + 1 : at;
  }
  // std::chrono stores a month and a day in 8 bits, so larger numbers would wrap.
  right = right && field[0] >= 0 && field[0] <= 9999 && field[1] <= 12 && field[2] <= 31;
  const std::chrono::year_month_day day{std::chrono::year(field[0]),
                                        std::chrono::month(static_cast<unsigned>(field[1])),
                                        std::chrono::day(static_cast<unsigned>(field[2]))};
  if (!right || !day.ok()) return std::nullopt;
  return static_cast<int>(std::chrono::sys_days(day).time_since_epoch().count());
}

int parse_date(const std::string& text, const std::string& date, int location) {
  if (const std::optional<int> days = parse_date(date)) return *days;
  refuse(text, location, Code::bad_sql, fmt::format("'{}' is not a valid date; write dates as 1998-12-31", date));
}

int add_months(int days, std::int64_t months) {
  const auto date = civil(days);
  const auto month = date.year() / date.month() + std::chrono::months(months);
  const auto last = (month / std::chrono::last).day();
  return static_cast<int>(std::chrono::sys_days(month / std::min(date.day(), last)).time_since_epoch().count());
}

// A year of std::chrono has 16 bits; columns of dates need more. The year is therefore reduced by a multiple of 400
// years.
std::string date_text(std::int64_t days) {
  constexpr std::int64_t kEra = 146097;
  const std::int64_t eras = days >= 0 ? days / kEra : -((kEra - 1 - days) / kEra);
  const auto date = civil(days - eras * kEra);
  const std::int64_t year = static_cast<int>(date.year()) + 400 * eras;
  return fmt::format("{}{:04}-{:02}-{:02}", year < 0 ? "-" : "", year < 0 ? -year : year,
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace upsweep::expression
