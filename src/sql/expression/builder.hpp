// SPDX-License-Identifier: Apache-2.0
// sql/expression/builder.hpp: builds typed expressions: converts operands, folds constants, shares equal expressions.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/expression/caret.hpp"
#include "sql/expression/expression.hpp"
#include "sql/expression/functions.hpp"

namespace upsweep::expression {

/// Returns the end of a message: why a column may be text. Returns an empty string for other types.
std::string_view why_text(ValueType type);

inline bool is_null_literal(const Node& a) { return a->op == Op::null; }

class Builder {
 public:
  explicit Builder(const std::string& sql) : sql_(sql) {}

  /// Returns the number of different expressions that were made.
  [[nodiscard]] int nodes() const { return static_cast<int>(made_.size()); }

  /// Returns the expression, or an equal one that already exists.
  Node make(Expression expression);
  /// `wide`: the column is a 128-bit integer.
  Node column(int index, ValueType type, bool wide, int location);
  Node exact(Int128 value, ValueType type, int location);
  Node real(double value, int location);
  Node text(const std::string& string, int location);
  Node null(int location);

  /// Returns a literal of seconds. Throws Error overflow if it does not fit 64 bits.
  Node seconds(Int128 count, ValueType type, int location);

  Node negate(const Node& a, int location);
  /// Makes add, subtract, multiply or divide.
  Node arithmetic(Op op, const Node& a, const Node& b, int location);
  /// `symbol` is one of "=", "<>", "<", "<=", ">", ">=".
  Node compare(const std::string& symbol, const Node& a, const Node& b, int location);
  /// Makes `both` or `either` of one or more conditions, which are evaluated from left to right.
  Node logic(Op op, std::span<const Node> conditions, int location);
  Node invert(const Node& a, int location);
  Node is_null(const Node& a, int location);
  /// Returns what identifies a float64 in GROUP BY, as an integer.
  Node real_key(const Node& a);
  /// `constants`: the literals and NULLs of the list.
  Node is_in(const Node& a, const std::vector<Expression>& constants, const std::vector<Node>& others, int location);
  /// `args` are condition, value, condition, value, …, value.
  Node choose(std::vector<Node> args, int location);
  /// Makes a call of a function of the table with these arguments. Throws Error bad_sql, unsupported_type.
  Node call(int function, std::vector<Node> args, int location);

  /// Throws unless the expression is boolean. NULL is converted to boolean.
  Node condition(const Node& a, const char* where);

 private:
  Node convert(const Node& a, ValueType type);
  Node typed_arithmetic(Op op, const Node& a, const Node& b, int location);
  ValueType common_type(const Node& a, const Node& b, int location, const char* what) const;
  Node comparable(const Node& a, ValueType common);
  Node compare_words(const std::string& symbol, const Node& a, const Node& b, int location);
  Node compare_intervals(const std::string& symbol, const Node& a, const Node& b, int location);
  Node strings_in(const Node& column, StringTest test, std::vector<std::string> strings, int location);
  static bool is_looked_up(ValueType a, const Expression& item);
  Node member_test(const Node& a, const std::vector<Expression>& items, int location);
  [[nodiscard]] Expression parsed(const Expression& string, ValueType type) const;
  Node in_utc(const Node& a, const Node& other);
  std::optional<Node> calendar_arithmetic(Op op, const Node& a, const Node& b, int location);
  Node computed(Op op, const Node& a, const Node& b, ValueType type, int location);
  void require_arguments(const Function& function, const std::vector<Node>& args, int location) const;
  Node rounded(int function, const Node& a, int places, int location);
  Node call_of(int function, ValueType type, std::vector<Node> operands, int location);
  [[noreturn]] void refuse(int location, const std::string& what) const {
    expression::refuse(sql_, location, Code::unsupported_sql, what);
  }

  const std::string& sql_;
  std::map<std::string, Node> made_;
};

}  // namespace upsweep::expression
