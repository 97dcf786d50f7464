// SPDX-License-Identifier: Apache-2.0
// sql/query/cell_text.cpp: functions of upsweep/query.hpp for single values: cells, dates and decimals as text and
// back.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sql/expression/clock.hpp"
#include "sql/expression/date.hpp"
#include "sql/expression/number.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/interval.hpp"
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
    case ValueKind::timestamp:
      return expression::timestamp_text({cell.exact, column.scale}, !column.zone.empty());
    case ValueKind::time:
      return expression::time_text({cell.exact, column.scale});
    case ValueKind::duration:
      return expression::duration_text({cell.exact, column.scale});
    case ValueKind::interval:
      return expression::interval_text(interval_of(cell.exact));
    case ValueKind::integer:
    case ValueKind::decimal:
      return expression::to_text(cell.exact, column.kind == ValueKind::decimal ? column.scale : 0);
  }
  detail::no_such_value();
}

std::string iso_text(const Field& column, const Cell& cell) {
  if (!cell.null && column.kind == ValueKind::timestamp) {
    return expression::timestamp_text({cell.exact, column.scale}, !column.zone.empty(), 'T');
  }
  if (!cell.null && column.kind == ValueKind::duration) {
    return expression::iso_duration_text({cell.exact, column.scale});
  }
  if (!cell.null && column.kind == ValueKind::interval) return expression::iso_interval_text(interval_of(cell.exact));
  return text(column, cell);
}

std::optional<std::int64_t> days_of(std::string_view date) { return expression::parse_date(date); }

std::optional<std::int64_t> element_with_text(const Field& column, std::string_view text) {
  std::optional<expression::Seconds> seconds;
  if (column.kind == ValueKind::date) return days_of(text);
  if (column.kind == ValueKind::timestamp) {
    const auto timestamp = expression::parse_timestamp(text);
    if (timestamp && (!timestamp->has_offset || !column.zone.empty())) seconds = timestamp->since;
  } else if (column.kind == ValueKind::time) {
    seconds = expression::parse_time(text);
  } else if (column.kind == ValueKind::duration) {
    const auto interval = expression::parse_span(text);
    if (interval && interval->months == 0) seconds = interval->time;
  }
  if (!seconds || seconds->scale > column.scale) return std::nullopt;
  const Int128 element = seconds->count * expression::power_of_ten(column.scale - seconds->scale);
  const auto stored = static_cast<std::int64_t>(element);
  return stored == element ? std::optional(stored) : std::nullopt;
}

double decimal_value(Int128 exact, int scale) { return expression::to_double(exact, scale); }

}  // namespace upsweep
