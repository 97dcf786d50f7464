// SPDX-License-Identifier: Apache-2.0
// sql/expression/date.hpp: dates as days since 1970-01-01: parsing, formatting, and moving by months.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace upsweep::expression {

/// Returns the days since 1970-01-01 of "1998-12-01", or nothing if the text is not a valid date.
std::optional<int> parse_date(std::string_view date);
/// Like parse_date(date), for a date at `location` in `text`; throws Error bad_sql.
int parse_date(const std::string& text, const std::string& date, int location);
/// Returns `days` moved by whole months. A day that does not exist in the new month becomes its last day.
int add_months(int days, std::int64_t months);
/// Returns "1998-12-01" in ISO 8601: "0000-12-31" is in 1 BC, "-0001-12-31" in 2 BC.
std::string date_text(std::int64_t days);
/// Days of the first and last dates that can be written in SQL and in CSV files: 0000-01-01 and 9999-12-31.
inline constexpr int kFirstDay = -719528;
inline constexpr int kLastDay = 2932896;

}  // namespace upsweep::expression
