// SPDX-License-Identifier: Apache-2.0
// sql/expression/expression.hpp: a bound expression: columns, typed operators with SQL's NULLs, and where in the query each one stands.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sql/expression/number.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/table.hpp"

namespace upsweep::expression {

/// What an expression comes to.
struct ValueType {
  ValueKind kind = ValueKind::integer;
  int scale = 0;  ///< of decimals

  bool operator==(const ValueType&) const = default;
};

constexpr bool is_exact(ValueType type) { return type.kind == ValueKind::integer || type.kind == ValueKind::decimal; }
/// Decimal places of an integer or decimal.
constexpr int scale_of(ValueType type) { return type.kind == ValueKind::decimal ? type.scale : 0; }
constexpr bool is_numeric(ValueType type) { return is_exact(type) || type.kind == ValueKind::real; }

/// "integer", "decimal(…, 2)", …
std::string name(ValueType type);

enum class Op : std::uint8_t {
  column,
  literal,  ///< `exact` or `real`; booleans 0 and 1, dates as days; of text: strings[0], in comparisons only
  null,     ///< of the expression's type
  rescale,  ///< an integer or decimal at the larger scale of the type; its second operand is the power of ten that takes it there
  to_real,  ///< an integer or decimal as the nearest float64
  add,
  subtract,
  multiply,
  divide,  ///< of integers: truncates; of reals
  ratio,   ///< of integers or decimals: the float64 nearest to the quotient; AVG is one of its sum and count
  equal,
  unequal,
  less,
  less_equal,
  both,    ///< AND
  either,  ///< OR
  invert,  ///< NOT
  is_null,
  choose,       ///< CASE: condition, value, condition, value, …, value
  string_test,  ///< a text column's string fulfills `string_test`
  is_member,    ///< a number or date is one of `members`, which are at its scale
  call          ///< `function` of the first operand; the others are literals that say what the function is
};

/// Whether a op b holds, of equal, unequal, less and less_equal, by how they are ordered: -1, 0 or 1 as a is less, equal, greater.
constexpr bool holds(Op op, int order) {
  if (op == Op::equal) return order == 0;
  if (op == Op::unequal) return order != 0;
  return op == Op::less ? order < 0 : order <= 0;
}

/// result ← a op b, of add, subtract and multiply; false where it does not fit.
inline bool compute_exact(Op op, Int128 a, Int128 b, Int128& result) {
  if (op == Op::add) return !__builtin_add_overflow(a, b, &result);
  if (op == Op::subtract) return !__builtin_sub_overflow(a, b, &result);
  if (op == Op::multiply) return !__builtin_mul_overflow(a, b, &result);
  detail::no_such_value();
}

enum class StringTest : std::uint8_t { is_one_of, less, less_equal, greater, greater_equal };

class Members;
struct Expression;
/// Equal expressions of a query are one object: what was computed for one serves all.
using Node = std::shared_ptr<const Expression>;

struct Expression {
  Op op = Op::null;
  ValueType type = {};
  std::vector<Node> args = {};
  int column = 0;    ///< of Op::column: which of the plan's
  int function = 0;  ///< of Op::call: its place in the table of functions.hpp
  Int128 exact = 0;
  double real = 0;
  StringTest string_test = StringTest::is_one_of;
  std::vector<std::string> strings = {};
  std::shared_ptr<const Members> members =
      {};            ///< of Op::is_member, and of Op::string_test where there are many strings
  int location = 0;  ///< byte in the query
  int id = 0;        ///< 0, 1, 2, … within a query
  // What rules.hpp derives:
  bool wide = false;      ///< an integer of 128 bits: by what it is made of, so that what overflows depends on no row
  bool can_fail = false;  ///< computing it can throw, for some values
};

/// The plan's columns that expressions read.
std::set<int> columns_of(const std::vector<Node>& nodes);

/// Whether a string fulfills the test of a node of Op::string_test.
bool passes(const Expression& node, std::string_view string);

}  // namespace upsweep::expression
