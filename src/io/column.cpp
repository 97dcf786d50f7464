// SPDX-License-Identifier: Apache-2.0
// io/column.cpp: which of a table's columns is meant, and a scaled integer as decimal text.
#include "io/column.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/number_lines.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::size_t kListedColumns = 20;  // in a message that lists them

std::string list_columns(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kListedColumns); ++i) shown.push_back(printable(names[i], 60));
  const std::string more = names.size() > kListedColumns ? fmt::format(", … ({} in all)", names.size()) : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

}  // namespace

int find_column(const std::vector<std::string>& names, const std::string& path,
                const std::optional<std::string>& column) {
  if (!column && names.size() == 1) return 0;
  const auto fail = [&](const std::string& what) {
    throw Error(Code::unknown_column, fmt::format("{}: {}; its columns are: {}", path, what, list_columns(names)));
  };
  if (!column) fail(fmt::format("has {} columns, so name one as FILE:COLUMN", names.size()));
  const auto found = std::find(names.begin(), names.end(), *column);
  if (found == names.end()) fail(fmt::format("has no column '{}'", printable(*column)));
  if (std::find(found + 1, names.end(), *column) != names.end()) {
    fail(fmt::format("has more than one column '{}'; rename one of them", printable(*column)));
  }
  return static_cast<int>(found - names.begin());
}

void require_name(const std::string& path, const std::string& column, std::string_view advice) {
  Decimal number;
  const NumberFault fault = parse_decimal(trimmed(column), number);
  // A number that is refused, such as 1,000.00, is one all the same; "inf" may well be a name.
  if (fault == NumberFault::no_number || fault == NumberFault::not_finite) return;
  throw Error(
      Code::malformed,
      fmt::format("{}: the first line holds '{}', and a CSV file begins with a line of column names, which are no "
                  "numbers; add such a line{}",
                  path, printable(column, 60), advice));
}

std::string format_decimal(std::int64_t value, int scale) {
  // Negated without a sign, so that the least integer works too.
  const auto bits = static_cast<std::uint64_t>(value);
  const auto places = static_cast<std::size_t>(scale);
  std::string digits = fmt::format("{:0{}}", value < 0 ? 0 - bits : bits, scale + 1);
  if (scale > 0) digits.insert(digits.size() - places, ".");
  return value < 0 ? "-" + digits : digits;
}

}  // namespace upsweep::io
