// SPDX-License-Identifier: Apache-2.0
// sql/expression/expression.hpp: a bound expression: columns and typed operators with SQL's NULLs and query positions.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sql/expression/number.hpp"
#include "upsweep/detail/temporal.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/table.hpp"

namespace upsweep::expression {

/// The type of an expression's value.
struct ValueType {
  ValueKind kind = ValueKind::integer;
  int scale = 0;        ///< of a decimal, a timestamp, a time or a duration
  bool in_utc = false;  ///< of a timestamp: an instant. Otherwise it is a date and a time in an unknown zone.

  bool operator==(const ValueType&) const = default;
};

constexpr bool is_exact(ValueType type) { return type.kind == ValueKind::integer || type.kind == ValueKind::decimal; }
/// Returns whether values are seconds: timestamps, times and durations.
constexpr bool is_temporal(ValueType type) { return detail::is_temporal(type.kind); }
/// Returns the decimal places of an exact number, or of seconds.
constexpr int scale_of(ValueType type) { return type.kind == ValueKind::decimal || is_temporal(type) ? type.scale : 0; }
constexpr bool is_numeric(ValueType type) { return is_exact(type) || type.kind == ValueKind::real; }

/// "integer", "decimal(…, 2)", …
std::string name(ValueType type);

enum class Op : std::uint8_t {
  column,
  /// `exact` or `real`; booleans are 0 and 1, dates are days, times are scaled seconds; text is strings[0], only in
  /// comparisons
  literal,
  null,  ///< a NULL of the expression's type
  /// Converts an exact number, or seconds, to the type's scale: multiplies by the power of ten that is the second
  /// operand. A date becomes a timestamp in the same way.
  rescale,
  to_real,  ///< converts an integer or decimal to the nearest float64
  add,
  subtract,
  multiply,
  divide,  ///< division of reals; division of integers truncates
  ratio,   ///< integers or decimals: the float64 nearest to the quotient; AVG is the ratio of sum and count
  equal,
  unequal,
  less,
  less_equal,
  both,    ///< AND
  either,  ///< OR
  invert,  ///< NOT
  is_null,
  choose,       ///< CASE: condition, value, condition, value, …, value
  string_test,  ///< a string of a text column passes `string_test`
  is_member,    ///< a number, a date or seconds are one of `members`, which have its scale
  real_key,     ///< an integer that identifies a float64 in GROUP BY: -0.0 is 0.0, and every NaN is the same
  call          ///< `function` of the first operand; the other operands are literals that define the function
};

/// Returns whether a op b is true for equal, unequal, less and less_equal. `order` is -1, 0 or 1 if a is less, equal or
/// greater.
constexpr bool holds(Op op, int order) {
  if (op == Op::equal) return order == 0;
  if (op == Op::unequal) return order != 0;
  return op == Op::less ? order < 0 : order <= 0;
}

/// Computes result ← a op b for add, subtract and multiply. Returns false if it does not fit.
inline bool compute_exact(Op op, Int128 a, Int128 b, Int128& result) {
  if (op == Op::add) return !__builtin_add_overflow(a, b, &result);
  if (op == Op::subtract) return !__builtin_sub_overflow(a, b, &result);
  if (op == Op::multiply) return !__builtin_mul_overflow(a, b, &result);
  detail::no_such_value();
}

enum class StringTest : std::uint8_t { is_one_of, less, less_equal, greater, greater_equal };

class Members;
struct Expression;
/// Equal expressions of a query are one object, so each is computed only once.
using Node = std::shared_ptr<const Expression>;

struct Expression {
  Op op = Op::null;
  ValueType type = {};
  std::vector<Node> args = {};
  int column = 0;    ///< of Op::column: index of the plan's column
  int function = 0;  ///< of Op::call: index in the table of functions.hpp
  Int128 exact = 0;
  double real = 0;
  StringTest string_test = StringTest::is_one_of;
  std::vector<std::string> strings = {};
  std::shared_ptr<const Members> members =
      {};            ///< of Op::is_member, and of Op::string_test with a long list of strings
  int location = 0;  ///< byte offset in the query
  int id = 0;        ///< 0, 1, 2, … within a query
  // The following members are derived by rules.hpp:
  bool wide = false;      ///< a 128-bit integer, determined from its operands, so that overflow depends on no row
  bool can_fail = false;  ///< evaluation can throw for some values
};

/// Returns the plan's columns that expressions read.
std::set<int> columns_of(const std::vector<Node>& nodes);

/// Returns whether a string passes the test of a node of Op::string_test.
bool passes(const Expression& node, std::string_view string);

}  // namespace upsweep::expression
