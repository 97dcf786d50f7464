// SPDX-License-Identifier: Apache-2.0
// sql/expression/cuda_values.hpp: writes what a row's expressions come to as CUDA C++, by the rules that the CPU keeps too.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sql/expression/rules.hpp"

namespace upsweep::expression {

/// What is known of a column before the code is made. No |value| of an int64 column is above 2^bits.
struct ColumnShape {
  int bits = 63;
  bool nullable = false;

  auto operator<=>(const ColumnShape&) const = default;
};

/// Of a number: its |value| is not above 2^bits, and is not below 2^(bits - 1) if it is positive.
int bits_of(Int128 value);
/// The size that the text tells of a column or a literal: in steps, so that other values seldom need a program of their own.
int rounded_bits(int bits);

/// An expression's value in the text: names, or constants. `null` is empty where it never is NULL.
struct Value {
  std::string text;
  std::string null;
  Form form = Form::narrow;
  UInt128 bound = 0;  ///< no |value| of narrow and wide ones is larger

  [[nodiscard]] Operand operand() const { return {form, bound}; }
};

/// A node of Op::is_member, and the form that its operand has in the text: the arrays of members have it too.
struct MemberTest {
  const Expression* node;
  Form form;
};

/// "i64", "i128", "double", "bool" or "int".
const char* type_of(Form form);
/// As an i128 where the form is wide, else as it is.
std::string held_as(Form form, const Value& v);
/// As an i128.
std::string widened(const Value& v);

/// Writes lines, and the values of expressions for row u of a thread, each once as long as its name is in sight.
///
/// column3[u] is column 3's value, absent3[u] whether it is NULL. `bad` becomes true where the CPU has to do it.
class ValueWriter {
 public:
  /// The arguments outlive this.
  ValueWriter(const std::vector<Field>& fields, const std::vector<ColumnShape>& shapes)
      : fields_(fields), shapes_(shapes) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  void text(std::string_view some) { out_ += some; }
  /// What has been written so far, which is then no more.
  std::string take() { return std::exchange(out_, {}); }
  /// What `write` writes, apart.
  template <class Write>
  std::string apart(Write write) {
    std::string before = take();
    write();
    return std::exchange(out_, std::move(before));
  }

  /// Of values that have names only inside braces.
  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }
  const Value& value(const Node& node);
  /// A constant of that name.
  Value named(Form form, const std::string& text, std::string null, UInt128 bound = 0);

  [[nodiscard]] const Field& field(int column) const { return fields_[static_cast<std::size_t>(column)]; }
  [[nodiscard]] const ColumnShape& shape(int column) const { return shapes_[static_cast<std::size_t>(column)]; }
  /// Nodes of Op::string_test: at<unsigned char>(PASSES_i, entry) is whether test i passes.
  [[nodiscard]] const std::vector<const Expression*>& string_tests() const { return string_tests_; }
  /// Words of literals, which the text calls LITERAL_0, LITERAL_1, …. Literals of the same types and rounded_bits() have the same
  /// text, which is compiled once.
  [[nodiscard]] const std::vector<std::uint64_t>& literals() const { return literals_; }

  /// MEMBERS_i is where the members of test i are, COUNT_i how many there are.
  [[nodiscard]] const std::vector<MemberTest>& member_tests() const { return member_tests_; }
  /// The functions that the text calls, as CUDA C++.
  [[nodiscard]] std::string function_text() const;

 private:
  std::string fresh(char kind) { return fmt::format("{}{}", kind, names_++); }
  /// Of an operator that is NULL where one of its two is.
  struct Operands {
    Value a;
    Value b;
    std::string null;
  };
  Operands operands(const Expression& node);
  Value compute(const Expression& node);
  std::string null_of(const Value& a, const Value& b);
  Value column(const Expression& node);
  Value literal(const Expression& node);
  std::string argument(std::uint64_t word);
  Value exact(Op op, const Operands& operands, const Limits& limits);
  Value checked(const ExactRule& rule, const Limits& limits, const std::string& text, const std::string& over,
                const std::string& null);
  Value arithmetic(const Expression& node);
  Value divide(const Expression& node);
  std::string divided_by_literal(const Expression& node, const Value& a, const std::string& bottom);
  Value ratio(const Expression& node);
  Value to_real(const Expression& node);
  Value compare(const Expression& node);
  Value both_or_either(const Expression& node);
  Value choose(const Expression& node);
  Value string_test(const Expression& node);
  Value is_member(const Expression& node);
  Value call(const Expression& node);
  void trouble(const std::string& condition, const std::string& null);

  const std::vector<Field>& fields_;
  const std::vector<ColumnShape>& shapes_;
  std::string out_;
  int names_ = 0;
  int troubles_ = 0;
  std::vector<std::map<int, Value>> scopes_{1};
  std::vector<const Expression*> string_tests_;
  std::vector<std::uint64_t> literals_;
  std::vector<MemberTest> member_tests_;
  std::vector<const char*> bodies_;  ///< text of functions
};

}  // namespace upsweep::expression
