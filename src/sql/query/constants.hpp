// SPDX-License-Identifier: Apache-2.0
// sql/query/constants.hpp: the literals of a query: numbers, strings, booleans, NULL, dates, times and intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sql/expression/clock.hpp"
#include "sql/expression/expression.hpp"
#include "sql/query/tree.hpp"

namespace upsweep::query {

/// Returns a node's literal as an expression of Op::literal or Op::null, or nothing if the node is not a literal.
/// An interval without months is a literal duration, one with months a literal interval.
/// Throws Error bad_sql (for a date, a time, an interval), overflow, unsupported_sql (for a number with too many
/// digits).
std::optional<expression::Expression> constant_of(const std::string& sql, const Json& node);

/// Returns a constant's integer, or nothing if the node is not an integer constant.
std::optional<std::int64_t> whole_number(const std::string& sql, const Json& node);

inline constexpr std::int64_t kMostMonths = 120000;  ///< distance between the first and the last date

/// Returns the interval of `node`, or nothing if it is not an interval. Throws Error bad_sql.
std::optional<expression::Span> span_of(const std::string& sql, const Json& node);

/// Returns the name of the target type of a cast: "date", "timestamp", "interval", "int8".
std::string cast_type(const Json& cast);

}  // namespace upsweep::query
