// SPDX-License-Identifier: Apache-2.0
// sql/query/constants.hpp: the literals of a query: numbers, strings, booleans, NULL, dates; and the intervals that dates are moved by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sql/expression/expression.hpp"
#include "sql/query/tree.hpp"

namespace upsweep::query {

/// The literal that a node is: an expression of Op::literal or Op::null; nothing where the node is something else. Throws Error
/// bad_sql (of a date), overflow, unsupported_sql (of a number with too many digits).
std::optional<expression::Expression> constant_of(const std::string& sql, const Json& node);

/// A constant's whole number; nothing where the node is none.
std::optional<std::int64_t> whole_number(const std::string& sql, const Json& node);

/// A number of days, months or years, of the sort that is added to a date.
struct Interval {
  std::int64_t months = 0;
  std::int64_t days = 0;
};
inline constexpr std::int64_t kMostMonths = 120000;  ///< of an interval: all that there are between two dates

/// The interval that `node` is, if it is one. Throws Error unsupported_sql, overflow.
std::optional<Interval> interval_of(const std::string& sql, const Json& node);

/// The name of the type that a cast is to: "date", "interval", "int8".
std::string cast_type(const Json& cast);

}  // namespace upsweep::query
