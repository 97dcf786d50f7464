// SPDX-License-Identifier: Apache-2.0
// sql/query/cell_text.cpp: functions of upsweep/query.hpp for single values: cells, dates and decimals as text and
// back.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sql/expression/date.hpp"
#include "sql/expression/number.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/query.hpp"

namespace upsweep {

std::string text(const Field& column, const Cell& cell) {
  if (cell.null) return "NULL";
  switch (column.kind) {
    case ValueKind::real:
      if (std::isnan(cell.real)) return "NaN";
      if (std::isinf(cell.real)) return cell.real > 0 ? "Infinity" : "-Infinity";
      return fmt::format("{}", cell.real);
    case ValueKind::date:
      return expression::date_text(static_cast<std::int64_t>(cell.exact));
    case ValueKind::boolean:
      return cell.exact != 0 ? "true" : "false";
    case ValueKind::text:
      return std::string(cell.word);
    case ValueKind::integer:
    case ValueKind::decimal:
      return expression::to_text(cell.exact, column.kind == ValueKind::decimal ? column.scale : 0);
  }
  detail::no_such_value();
}

std::optional<std::int64_t> days_of(std::string_view date) { return expression::parse_date(date); }

double decimal_value(Int128 exact, int scale) { return expression::to_double(exact, scale); }

}  // namespace upsweep
