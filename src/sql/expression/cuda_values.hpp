// SPDX-License-Identifier: Apache-2.0
// sql/expression/cuda_values.hpp: writes the value of a row's expressions as CUDA C++, with the rules that the CPU
// uses.
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

/// Properties of a column that are known before the code is generated. No |value| of an int64 column exceeds 2^bits.
struct ColumnShape {
  int bits = 63;
  bool nullable = false;

  auto operator<=>(const ColumnShape&) const = default;
};

/// Returns the bits of a number: its |value| is at most 2^bits. A positive value is at least 2^(bits - 1).
int bits_of(Int128 value);
/// Returns the size of a column or a literal that the text contains. It is rounded up in steps, so that other values
/// seldom need a separate program.
int rounded_bits(int bits);

/// An expression's value in the text: names, or constants. `null` is empty if it is never NULL.
struct Value {
  std::string text;
  std::string null;
  Form form = Form::narrow;
  UInt128 bound = 0;  ///< no |value| of a narrow or wide value is larger

  [[nodiscard]] Operand operand() const { return {form, bound}; }
};

/// A node of Op::is_member, and the form of its operand in the text. The arrays of members have the same form.
struct MemberTest {
  const Expression* node;
  Form form;
};

/// Returns "i64", "i128", "double", "bool" or "int".
const char* type_of(Form form);
/// Returns the value as an i128 if the form is wide, otherwise unchanged.
std::string held_as(Form form, const Value& v);
/// Returns the value as an i128.
std::string widened(const Value& v);

/// Writes lines, and the values of expressions for row u of a thread. Each value is written once while its name is in
/// scope.
///
/// column3[u] is column 3's value; absent3[u] is whether it is NULL. `bad` becomes true if the CPU must compute the
/// chunk.
class ValueWriter {
 public:
  /// The arguments must outlive this object.
  ValueWriter(const std::vector<Field>& fields, const std::vector<ColumnShape>& shapes)
      : fields_(fields), shapes_(shapes) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  void text(std::string_view some) { out_ += some; }
  /// Returns the text that has been written so far and clears it.
  std::string take() { return std::exchange(out_, {}); }
  /// Returns the text that `write` writes, separately.
  template <class Write>
  std::string apart(Write write) {
    std::string before = take();
    write();
    return std::exchange(out_, std::move(before));
  }

  /// Opens a scope for values whose names exist only inside braces.
  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }
  const Value& value(const Node& node);
  /// Writes a constant of that name.
  Value named(Form form, const std::string& text, std::string null, UInt128 bound = 0);

  [[nodiscard]] const Field& field(int column) const { return fields_[static_cast<std::size_t>(column)]; }
  [[nodiscard]] const ColumnShape& shape(int column) const { return shapes_[static_cast<std::size_t>(column)]; }
  /// Nodes of Op::string_test: at<unsigned char>(PASSES_i, entry) is true if the entry passes test i.
  [[nodiscard]] const std::vector<const Expression*>& string_tests() const { return string_tests_; }
  /// Words of literals. The text calls them LITERAL_0, LITERAL_1, …. Literals of the same types and rounded_bits() give
  /// the same text, which is compiled once.
  [[nodiscard]] const std::vector<std::uint64_t>& literals() const { return literals_; }

  /// MEMBERS_i is the address of the members of test i, COUNT_i their number.
  [[nodiscard]] const std::vector<MemberTest>& member_tests() const { return member_tests_; }
  /// Returns the functions that the text calls, as CUDA C++.
  [[nodiscard]] std::string function_text() const;

 private:
  std::string fresh(char kind) { return fmt::format("{}{}", kind, names_++); }
  /// Operands of an operator that is NULL if either of them is NULL.
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
  std::vector<const char*> bodies_;  ///< texts of functions
};

}  // namespace upsweep::expression
