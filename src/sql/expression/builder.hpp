// SPDX-License-Identifier: Apache-2.0
// sql/expression/builder.hpp: makes typed expressions: brings operands to one type, computes what is constant, keeps equals once.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/expression/caret.hpp"
#include "sql/expression/expression.hpp"
#include "sql/expression/functions.hpp"

namespace upsweep::expression {

/// For the end of a message: why a column may be text; empty for other types.
std::string_view why_text(ValueType type);

inline bool is_null_literal(const Node& a) { return a->op == Op::null; }

class Builder {
 public:
  explicit Builder(const std::string& sql) : sql_(sql) {}

  /// How many different expressions were made.
  [[nodiscard]] int nodes() const { return static_cast<int>(made_.size()); }

  /// The expression, or an equal one that there is already.
  Node make(Expression expression);
  /// `wide`: an integer of 128 bits.
  Node column(int index, ValueType type, bool wide, int location);
  Node exact(Int128 value, ValueType type, int location);
  Node real(double value, int location);
  Node text(const std::string& string, int location);
  Node null(int location);

  Node negate(const Node& a, int location);
  /// add, subtract, multiply, divide.
  Node arithmetic(Op op, const Node& a, const Node& b, int location);
  /// "=", "<>", "<", "<=", ">", ">=".
  Node compare(const std::string& symbol, const Node& a, const Node& b, int location);
  /// both, either; of one condition or more, which are tried from left to right.
  Node logic(Op op, std::span<const Node> conditions, int location);
  Node invert(const Node& a, int location);
  Node is_null(const Node& a, int location);
  /// `constants`: of the list what is a literal or NULL.
  Node is_in(const Node& a, const std::vector<Expression>& constants, const std::vector<Node>& others, int location);
  /// condition, value, condition, value, …, value.
  Node choose(std::vector<Node> args, int location);
  /// A function of the table, called with these arguments. Throws Error bad_sql, unsupported_type.
  Node call(int function, std::vector<Node> args, int location);

  /// Throws unless the expression is a boolean; NULL becomes one.
  Node condition(const Node& a, const char* where);

 private:
  Node convert(const Node& a, ValueType type);
  Node typed_arithmetic(Op op, const Node& a, const Node& b, int location);
  ValueType common_type(const Node& a, const Node& b, int location, const char* what) const;
  Node comparable(const Node& a, ValueType common);
  Node compare_words(const std::string& symbol, const Node& a, const Node& b, int location);
  Node strings_in(const Node& column, StringTest test, std::vector<std::string> strings, int location);
  static bool is_looked_up(ValueType a, const Expression& item);
  Node member_test(const Node& a, const std::vector<Expression>& items, int location);
  Node as_date(const Node& a);
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
