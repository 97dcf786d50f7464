// SPDX-License-Identifier: Apache-2.0
// sql/expression/date.hpp: dates as days since 1970-01-01: read, shown, and moved by months.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace upsweep::expression {

/// Days since 1970-01-01 of "1998-12-01"; nothing where that is no date.
std::optional<int> parse_date(std::string_view date);
/// The same of a date that stands in `text` at `location`; throws Error bad_sql.
int parse_date(const std::string& text, const std::string& date, int location);
/// `days` moved by whole months; a day that its month does not have becomes the month's last.
int add_months(int days, std::int64_t months);
/// "1998-12-01", as ISO 8601 has it: "0000-12-31" is in 1 BC, "-0001-12-31" in 2 BC.
std::string date_text(std::int64_t days);
/// Days of the first and the last date that can be written, in SQL and in CSV files: 0000-01-01 and 9999-12-31.
inline constexpr int kFirstDay = -719528;
inline constexpr int kLastDay = 2932896;

}  // namespace upsweep::expression
