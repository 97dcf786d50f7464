// SPDX-License-Identifier: Apache-2.0
// sql/expression/cuda_values.cpp: writes one statement per operator, in 64 bits if the column bounds prove that it
// fits.
#include "sql/expression/cuda_values.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "sql/expression/functions.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::expression {
namespace {

/// Returns an integer as a constant of the text.
Value constant(Int128 value) {
  const auto bits = static_cast<UInt128>(value);
  const auto low = static_cast<std::uint64_t>(bits);
  if (value >= INT64_MIN && value <= INT64_MAX) {
    return {.text = fmt::format("(i64){}ULL", low), .bound = magnitude(value)};
  }
  return {.text = fmt::format("join({}ULL, {}ULL)", low, static_cast<std::uint64_t>(bits >> 64)),
          .form = Form::wide,
          .bound = magnitude(value)};
}
Value power(int exponent) { return constant(power_of_ten(exponent)); }

/// The GPU divides 32-bit or 64-bit integers by this instead of a literal. Multiplication takes a fraction of the
/// instructions of a division. Granlund and Montgomery, "Division by invariant integers using multiplication" (1994),
/// figure 5.1.
struct Divisor {
  std::uint64_t multiplier = 0;  ///< 2^(bits + shift) / |literal| - 2^bits, plus one; as a signed number
  int shift = 0;
  std::uint64_t sign = 0;  ///< all ones if the literal is negative
};
Divisor divisor_of(std::int64_t literal, int bits) {
  const UInt128 size = magnitude(literal);
  if (size == 0) return {};
  const std::uint64_t sign = literal < 0 ? ~std::uint64_t{0} : 0;
  if (size > UInt128{1} << (bits - 1)) return {.shift = bits - 1, .sign = sign};  // every quotient is 0
  const int places = std::max(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1))), 1);
  return {.multiplier = static_cast<std::uint64_t>((UInt128{1} << (bits - 1 + places)) / size + 1),
          .shift = places - 1,
          .sign = sign};
}

int index_of(Op op, Op first) { return static_cast<int>(op) - static_cast<int>(first); }

/// Returns the C++ operator of add to multiply, and of comparisons.
const char* sign_of(Op op) {
  constexpr const char* kArithmetic[] = {"+", "-", "*"};
  constexpr const char* kComparisons[] = {"==", "!=", "<", "<="};
  return op <= Op::multiply ? kArithmetic[index_of(op, Op::add)] : kComparisons[index_of(op, Op::equal)];
}

}  // namespace

int bits_of(Int128 value) {
  const auto bits = static_cast<UInt128>(value ^ (value >> 127));
  const auto high = static_cast<std::uint64_t>(bits >> 64);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(bits)));
}

int rounded_bits(int bits) {
  const int rounded = (bits + 7) / 8 * 8;
  if (bits > 63) return std::min(rounded, 127);
  return bits > 56 ? (bits > 62 ? 63 : 62) : rounded;
}

const char* type_of(Form form) {
  constexpr const char* kTypes[] = {"i64", "i128", "double", "bool", "int"};
  return kTypes[static_cast<int>(form)];
}
std::string held_as(Form form, const Value& v) {
  return form == Form::wide && v.form != Form::wide ? "(i128)" + v.text : v.text;
}
std::string widened(const Value& v) { return held_as(Form::wide, v); }

const Value& ValueWriter::value(const Node& node) {
  // A literal is a separate argument each time it is used, because the text does not show that two are equal.
  const bool is_kept = node->op != Op::literal;
  for (auto scope = scopes_.rbegin(); is_kept && scope != scopes_.rend(); ++scope) {
    if (const auto known = scope->find(node->id); known != scope->end()) return known->second;
  }
  Value v = compute(*node);
  return scopes_.back().insert_or_assign(node->id, std::move(v)).first->second;
}

Value ValueWriter::compute(const Expression& node) {
  switch (node.op) {
    case Op::column:
      return column(node);
    case Op::literal:
      return literal(node);
    case Op::null: {
      const Form form = form_of(node);
      return {.text = fmt::format("({})0", type_of(form)), .null = "true", .form = form};
    }
    case Op::rescale: {
      const Value v = value(node.args[0]);
      const Value by = constant(node.args[1]->exact);  // follows from the types
      return exact(Op::multiply, {v, by, v.null}, limits_of(node.type, node.wide));
    }
    case Op::to_real:
      return to_real(node);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
      return arithmetic(node);
    case Op::divide:
      return divide(node);
    case Op::ratio:
      return ratio(node);
    case Op::equal:
    case Op::unequal:
    case Op::less:
    case Op::less_equal:
      return compare(node);
    case Op::both:
    case Op::either:
      return both_or_either(node);
    case Op::invert: {
      const Value v = value(node.args[0]);
      return named(Form::boolean, "!" + v.text, v.null);
    }
    case Op::is_null: {
      const Value v = value(node.args[0]);
      return {.text = v.null.empty() ? "false" : v.null, .form = Form::boolean};
    }
    case Op::choose:
      return choose(node);
    case Op::string_test:
      return string_test(node);
    case Op::is_member:
      return is_member(node);
    case Op::real_key: {
      const Value v = value(node.args[0]);
      return named(Form::narrow, fmt::format("key_of({})", v.text), v.null, bound_of(Storage::int64));
    }
    case Op::call:
      return call(node);
  }
  detail::no_such_value();
}

Value ValueWriter::named(Form form, const std::string& text, std::string null, UInt128 bound) {
  const std::string name = fresh('v');
  line("const {} {} = {};", type_of(form), name, text);
  return {.text = name, .null = std::move(null), .form = form, .bound = bound};
}

ValueWriter::Operands ValueWriter::operands(const Expression& node) {
  const Value a = value(node.args[0]);
  const Value b = value(node.args[1]);
  return {a, b, null_of(a, b)};
}

std::string ValueWriter::null_of(const Value& a, const Value& b) {
  if (a.null.empty() || a.null == b.null) return b.null;
  if (b.null.empty()) return a.null;
  const std::string name = fresh('n');
  line("const bool {} = {} | {};", name, a.null, b.null);
  return name;
}

/// The CPU computes the chunk again if the condition is true, unless the value is NULL.
void ValueWriter::trouble(const std::string& condition, const std::string& null) {
  ++troubles_;
  // Not bad |= …, which takes five instructions; this takes one.
  if (null.empty()) {
    line("if ({}) bad = true;", condition);
  } else {
    line("if (({}) && !{}) bad = true;", condition, null);
  }
}

Value ValueWriter::column(const Expression& node) {
  const Storage storage = field(node.column).storage;
  const ColumnShape& known = shape(node.column);
  Value v{.form = form_of(field(node.column))};
  if (v.form == Form::narrow || v.form == Form::wide) v.bound = bound_of(storage);
  if (storage == Storage::int64) v.bound = UInt128{1} << known.bits;
  v.text = fmt::format("({})column{}[u]", type_of(v.form), node.column);
  if (known.nullable) v.null = fmt::format("absent{}[u]", node.column);
  return v;
}

/// Returns the name of a literal's word in the text.
std::string ValueWriter::argument(std::uint64_t word) {
  literals_.push_back(word);
  return fmt::format("LITERAL_{}", literals_.size() - 1);
}

Value ValueWriter::literal(const Expression& node) {
  const Form form = form_of(node);
  if (form == Form::real) {
    return {.text = fmt::format("real({})", argument(std::bit_cast<std::uint64_t>(node.real))), .form = form};
  }
  const std::string low = argument(static_cast<std::uint64_t>(node.exact));
  if (form == Form::boolean) return {.text = fmt::format("({} != 0)", low), .form = form};
  const UInt128 bound = UInt128{1} << rounded_bits(std::max(bits_of(node.exact), 1));
  if (form == Form::narrow) return {.text = fmt::format("((i64){})", low), .form = form, .bound = bound};
  const std::string high = argument(static_cast<std::uint64_t>(node.exact >> 64));
  return {.text = fmt::format("join({}, {})", low, high), .form = form, .bound = bound};
}

/// Computes integers, decimals and dates. It is unchecked if the rule proves that no overflow can occur.
Value ValueWriter::exact(Op op, const Operands& operands, const Limits& limits) {
  const auto& [a, b, null] = operands;
  constexpr const char* kNames[] = {"add", "subtract", "multiply"};
  const ExactRule rule = rule_of(op, limits, a.operand(), b.operand());
  const std::string left = held_as(rule.computed, a);
  const std::string right = held_as(rule.computed, b);
  if (!rule.wraps && !rule.leaves) {
    return named(rule.form, fmt::format("{} {} {}", left, sign_of(op), right), null, rule.bound);
  }
  const std::string over = fresh('o');
  return checked(rule, limits, fmt::format("checked_{}({}, {}, {})", kNames[index_of(op, Op::add)], left, right, over),
                 over, null);
}

/// Returns a result whose text sets `over` if it does not fit the form that it is computed in.
Value ValueWriter::checked(const ExactRule& rule, const Limits& limits, const std::string& text,
                           const std::string& over, const std::string& null) {
  line("bool {} = false;", over);
  const Value v = named(rule.computed, text, null);
  const bool holds_more = limits.minimum > minimum_of(rule.computed);
  if (holds_more) {
    line("{} |= {} < {} || {} > {};", over, v.text, constant(limits.minimum).text, v.text,
         constant(limits.maximum).text);
  }
  if (rule.wraps || rule.leaves) trouble(over, null);
  return {.text = rule.form == rule.computed ? v.text : fmt::format("((i64){})", v.text),
          .null = null,
          .form = rule.form,
          .bound = rule.bound};
}

Value ValueWriter::arithmetic(const Expression& node) {
  const Operands on = operands(node);
  if (node.type.kind != ValueKind::real) return exact(node.op, on, limits_of(node.type, node.wide));
  return named(Form::real, fmt::format("{} {} {}", on.a.text, sign_of(node.op), on.b.text), on.null);
}

/// Divides an integer by a 64-bit literal; `bottom` is the literal.
std::string ValueWriter::divided_by_literal(const Expression& node, const Value& a, const std::string& bottom) {
  constexpr UInt128 kShort = UInt128{1} << 31;
  // |value| == kShort means a negative value in a column, but it may be positive in an expression.
  const bool is_short =
      a.form == Form::narrow && (a.bound < kShort || (a.bound == kShort && node.args[0]->op == Op::column));
  const Divisor by = divisor_of(static_cast<std::int64_t>(node.args[1]->exact), is_short ? 32 : 64);
  const char* const type = is_short ? "int" : "i64";
  const std::string multiplier = argument(by.multiplier);
  const std::string shift = argument(static_cast<std::uint64_t>(by.shift));
  const std::string words = fmt::format("({}){}, (int){}, (i64){}", type, multiplier, shift, argument(by.sign));
  if (a.form == Form::wide) return fmt::format("divided({}, {}, {})", a.text, bottom, words);
  return fmt::format("divided(({}){}, {})", type, a.text, words);
}

Value ValueWriter::divide(const Expression& node) {
  const auto [a, b, null] = operands(node);
  if (node.type.kind == ValueKind::real) {
    trouble(b.text + " == 0", null);
    return named(Form::real, a.text + " / " + b.text, null);
  }
  const Form form = form_of_quotient(a.form, b.form);
  const std::string top = held_as(form, a);
  const std::string bottom = held_as(form, b);
  std::string fails = bottom + " == 0";
  if (a.bound > kNarrowBound) {
    fails += fmt::format(" || ({} == -1 && {} == {})", bottom, top, constant(minimum_of(form)).text);
  }
  const bool by_literal = node.args[1]->op == Op::literal && b.form == Form::narrow;
  if (by_literal && form == Form::narrow) {  // uses multiplication, which never fails
    trouble(fails, null);
    return named(form, divided_by_literal(node, a, bottom), null, a.bound);
  }
  const std::string no = fresh('o');
  line("const bool {} = {};", no, fails);
  trouble(no, null);
  const std::string quotient = by_literal ? divided_by_literal(node, a, bottom) : fmt::format("{} / {}", top, bottom);
  return named(form, fmt::format("{} ? ({})0 : {}", no, type_of(form), quotient), null, a.bound);
}

/// Division of two float64 rounds once. If both operands are exact float64, the quotient is the nearest.
Value ValueWriter::ratio(const Expression& node) {
  const auto [a, b, null] = operands(node);
  const int tens = scale_of(node.args[1]->type) - scale_of(node.args[0]->type);
  const Value up = power(std::max(tens, 0));
  const Value down = power(std::max(-tens, 0));
  const std::string top = fresh('v');
  const std::string bottom = fresh('v');
  const std::string over = fresh('o');
  line("bool {} = false;", over);
  line("const i128 {} = checked_multiply({}, {}, {});", top, widened(a), widened(up), over);
  line("const i128 {} = checked_multiply({}, {}, {});", bottom, widened(b), widened(down), over);
  trouble(fmt::format("{} || {} == 0 || !is_real({}) || !is_real({})", over, bottom, top, bottom), null);
  return named(Form::real, fmt::format("{} == 0 ? 0.0 : (double)(i64){} / (double)(i64){}", top, top, bottom), null);
}

Value ValueWriter::to_real(const Expression& node) {
  const Value a = value(node.args[0]);
  const int scale = scale_of(node.args[0]->type);
  if (scale == 0 && a.form == Form::narrow) return named(Form::real, "(double)(" + a.text + ")", a.null);
  if (scale > kExactTens) {
    trouble("true", a.null);
  } else if (a.bound > UInt128{1} << kExactBits) {
    trouble(fmt::format("!is_real({})", a.text), a.null);
  }
  const Value by = power(std::min(scale, kExactTens));
  return named(Form::real, fmt::format("(double)(i64)({}) / (double)({})", a.text, by.text), a.null);
}

Value ValueWriter::compare(const Expression& node) {
  auto [a, b, null] = operands(node);
  if (a.form == Form::real) {
    const std::string text = node.op == Op::equal     ? fmt::format("is_equal({}, {})", a.text, b.text)
                             : node.op == Op::unequal ? fmt::format("!is_equal({}, {})", a.text, b.text)
                             : node.op == Op::less    ? fmt::format("is_less({}, {})", a.text, b.text)
                                                      : fmt::format("!is_less({}, {})", b.text, a.text);
    return named(Form::boolean, text, null);
  }
  const int finer = scale_of(node.args[0]->type) - scale_of(node.args[1]->type);
  const Limits decimal = limits_of({ValueKind::decimal}, false);
  if (finer > 0) b = exact(Op::multiply, {b, power(finer), b.null}, decimal);
  if (finer < 0) a = exact(Op::multiply, {a, power(-finer), a.null}, decimal);
  const Form form = a.form == Form::wide ? a.form : b.form;
  return named(Form::boolean, fmt::format("{} {} {}", held_as(form, a), sign_of(node.op), held_as(form, b)), null);
}

/// Evaluates the right side only if the left side does not decide the result, provided that its evaluation can fail.
Value ValueWriter::both_or_either(const Expression& node) {
  const bool is_either = node.op == Op::either;
  const Value a = value(node.args[0]);
  const int troubles = troubles_;
  scopes_.emplace_back();
  Value b;
  const std::string right = apart([&] { b = value(node.args[1]); });
  const bool can_fail = troubles_ > troubles;
  auto inner = std::move(scopes_.back());
  scopes_.pop_back();
  const auto decides = [&](const Value& v) {
    const std::string text = is_either ? v.text : "!" + v.text;
    return v.null.empty() ? text : fmt::format("({} && !{})", text, v.null);
  };
  const char* const decided = is_either ? "true" : "false";
  const char* const open = is_either ? "false" : "true";
  if (!can_fail) {
    out_ += right;
    scopes_.back().merge(inner);
    if (a.null.empty() && b.null.empty()) {
      return named(Form::boolean, fmt::format("{} {} {}", a.text, is_either ? "|" : "&", b.text), "");
    }
    const std::string known = fresh('v');
    line("const bool {} = {} || {};", known, decides(a), decides(b));
    const std::string either_null = null_of(a, b);
    const std::string null = fresh('n');
    line("const bool {} = !{} && {};", null, known, either_null);
    return {.text = is_either ? known : fmt::format("(!{})", known), .null = null, .form = Form::boolean};
  }
  const std::string v = fresh('v');
  const std::string null = fresh('n');
  line("bool {} = {}, {} = false;", v, decided, null);
  line("if (!{}) {{", decides(a));
  out_ += right;
  line("if (!{}) {{", decides(b));
  line("{} = {};", v, open);
  const std::string either_null = null_of(a, b);
  if (!either_null.empty()) line("{} = {};", null, either_null);
  line("}}");
  line("}}");
  return {.text = v, .null = a.null.empty() && b.null.empty() ? "" : null, .form = Form::boolean};
}

Value ValueWriter::choose(const Expression& node) {
  struct Arm {
    std::string test_text;
    std::string is_true;
    std::string text;
    Value value;
  };
  std::vector<Arm> arms;
  const auto result = [&](Arm& arm, const Node& from) {
    scopes_.emplace_back();
    arm.text = apart([&] { arm.value = value(from); });
    scopes_.pop_back();
  };
  for (std::size_t i = 0; i + 1 < node.args.size(); i += 2) {
    scopes_.emplace_back();  // the values of a test are reused by later tests
    Arm arm;
    arm.test_text = apart([&] {
      const Value& test = value(node.args[i]);
      arm.is_true = test.null.empty() ? test.text : fmt::format("{} && !{}", test.text, test.null);
    });
    result(arm, node.args[i + 1]);
    arms.push_back(std::move(arm));
  }
  Arm last;
  result(last, node.args.back());
  arms.push_back(std::move(last));
  for (std::size_t i = 0; i + 1 < arms.size(); ++i) scopes_.pop_back();

  Value all;
  for (const Arm& arm : arms) {
    const bool is_first = &arm == arms.data();
    if (is_first || arm.value.form == Form::wide) all.form = arm.value.form;
    all.bound = std::max(all.bound, arm.value.bound);
    if (!arm.value.null.empty()) all.null = "?";
  }
  all.text = fresh('v');
  if (!all.null.empty()) all.null = fresh('n');
  line("{} {} = 0;", type_of(all.form), all.text);
  if (!all.null.empty()) line("bool {} = false;", all.null);
  for (const Arm& arm : arms) {
    const bool is_last = &arm == &arms.back();
    out_ += arm.test_text;
    if (!is_last) line("if ({}) {{", arm.is_true);
    out_ += arm.text;
    line("{} = {};", all.text, arm.value.text);
    if (!arm.value.null.empty()) line("{} = {};", all.null, arm.value.null);
    if (!is_last) line("}} else {{");
  }
  for (std::size_t i = 0; i + 1 < arms.size(); ++i) line("}}");
  return all;
}

Value ValueWriter::string_test(const Expression& node) {
  const Value a = value(node.args[0]);
  auto known = std::find(string_tests_.begin(), string_tests_.end(), &node);
  if (known == string_tests_.end()) known = string_tests_.insert(known, &node);
  // The position of PASSES_i among the arguments depends on their number, so it is filled in at the end.
  const std::string passes = fmt::format("PASSES_{}", known - string_tests_.begin());
  const std::string there = a.null.empty() ? "" : fmt::format("!{} && ", a.null);
  return named(Form::boolean, fmt::format("{}at<unsigned char>({}, {}) != 0", there, passes, a.text), a.null);
}

Value ValueWriter::is_member(const Expression& node) {
  const Value a = value(node.args[0]);
  auto known =
      std::find_if(member_tests_.begin(), member_tests_.end(), [&](const MemberTest& t) { return t.node == &node; });
  if (known == member_tests_.end()) known = member_tests_.insert(known, {&node, a.form});
  const auto which = known - member_tests_.begin();
  return named(Form::boolean, fmt::format("is_member(MEMBERS_{0}, COUNT_{0}, {1})", which, a.text), a.null);
}

Value ValueWriter::call(const Expression& node) {
  const Function& function = functions()[static_cast<std::size_t>(node.function)];
  const bool is_real = node.type.kind == ValueKind::real;
  const FunctionBody& body = is_real ? function.real : function.exact;
  if (std::find(bodies_.begin(), bodies_.end(), body.text) == bodies_.end()) bodies_.push_back(body.text);
  std::vector<Value> operands{value(node.args[0])};
  // The other operands define the function, such as the decimal places to round to. They are constants of the text.
  for (std::size_t i = 1; i < node.args.size(); ++i) {
    const Expression& literal = *node.args[i];
    const std::string bits = fmt::format("real({}ULL)", std::bit_cast<std::uint64_t>(literal.real));
    operands.push_back(is_real ? Value{.text = bits, .form = Form::real} : constant(literal.exact));
  }
  const std::string null = operands[0].null;
  const std::string over = fresh('o');
  std::string text = fmt::format("{}({}", body.name, over);
  if (is_real) {
    for (const Value& operand : operands) text += ", " + operand.text;
    line("bool {} = false;", over);
    Value v = named(Form::real, text + ")", null);
    if (function.failure != nullptr) trouble(over, null);
    return v;
  }
  std::array<UInt128, kMostOperands> bounds = {};
  std::transform(operands.begin(), operands.end(), bounds.begin(), [](const Value& v) { return v.bound; });
  const bool narrow =
      std::all_of(operands.begin(), operands.end(), [](const Value& v) { return v.form == Form::narrow; });
  const Limits limits = limits_of(node.type, node.wide);
  const ExactRule rule = rule_of(function.bound(bounds.data()), limits, narrow);
  for (const Value& operand : operands) text += fmt::format(", ({}){}", type_of(rule.computed), operand.text);
  return checked(rule, limits, text + ")", over, null);
}

std::string ValueWriter::function_text() const {
  if (bodies_.empty()) return {};
  std::string text = fmt::format("typedef bool Flag;\n{}", functions_baseline.text);
  for (const char* const body : bodies_) text += body;
  return text;
}

}  // namespace upsweep::expression
