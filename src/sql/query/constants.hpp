// SPDX-License-Identifier: Apache-2.0
// sql/query/constants.hpp: the literals of a query: numbers, strings, booleans, NULL, dates, and intervals for dates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sql/expression/expression.hpp"
#include "sql/query/tree.hpp"

namespace upsweep::query {

/// Returns a node's literal as an expression of Op::literal or Op::null, or nothing if the node is not a literal.
/// Throws Error bad_sql (for a date), overflow, unsupported_sql (for a number with too many digits).
std::optional<expression::Expression> constant_of(const std::string& sql, const Json& node);

/// Returns a constant's integer, or nothing if the node is not an integer constant.
std::optional<std::int64_t> whole_number(const std::string& sql, const Json& node);

/// A number of days, months or years that can be added to a date.
struct Interval {
  std::int64_t months = 0;
  std::int64_t days = 0;
};
inline constexpr std::int64_t kMostMonths = 120000;  ///< distance between the first and the last date

/// Returns the interval of `node`, or nothing if it is not an interval. Throws Error unsupported_sql, overflow.
std::optional<Interval> interval_of(const std::string& sql, const Json& node);

/// Returns the name of the target type of a cast: "date", "interval", "int8".
std::string cast_type(const Json& cast);

}  // namespace upsweep::query
