// SPDX-License-Identifier: Apache-2.0
// query/cuda_values.cpp: one statement per operator; in 64 bits where what is known of the columns says that it fits.
#include "query/cuda_values.hpp"

#include <algorithm>
#include <bit>

#include "query/number.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::query {
namespace {

Value column_value(const Field& field, const ColumnShape& shape) {
  switch (field.storage) {
    case Storage::float32:
    case Storage::float64:
      return {.form = Form::real};
    case Storage::bit:
      return {.form = Form::truth};
    case Storage::uint64:
      return {.form = Form::wide, .bits = 64};
    case Storage::int128:
      return {.form = Form::wide, .bits = 127};
    case Storage::int8:
      return {.form = Form::narrow, .bits = 7};
    case Storage::uint8:
      return {.form = Form::narrow, .bits = 8};
    case Storage::int16:
      return {.form = Form::narrow, .bits = 15};
    case Storage::uint16:
      return {.form = Form::narrow, .bits = 16};
    case Storage::int32:
      return {.form = Form::narrow, .bits = 31};
    case Storage::uint32:
      return {.form = Form::narrow, .bits = 32};
    case Storage::int64:
      return {.form = Form::narrow, .bits = shape.bits};
  }
  detail::no_such_value();
}

Value power(int exponent) {
  const Int128 factor = power_of_ten(exponent);
  const auto low = static_cast<std::uint64_t>(static_cast<UInt128>(factor));
  const auto high = static_cast<std::uint64_t>(static_cast<UInt128>(factor) >> 64);
  const int bits = high != 0 ? 64 + static_cast<int>(std::bit_width(high)) : static_cast<int>(std::bit_width(low));
  if (bits <= 63) return {.text = fmt::format("(i64){}LL", low), .bits = bits};
  return {.text = fmt::format("join({}ULL, {}ULL)", low, high), .form = Form::wide, .bits = bits};
}

}  // namespace

const char* type_of(Form form) {
  constexpr const char* kTypes[] = {"i64", "i128", "double", "bool"};
  return kTypes[static_cast<int>(form)];
}
std::string widened(const Value& v) { return v.form == Form::wide ? v.text : "(i128)" + v.text; }

const Value& ValueWriter::value(const Node& node) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto known = scope->find(node->id); known != scope->end()) return known->second;
  }
  Value v = compute(*node);
  return scopes_.back().emplace(node->id, std::move(v)).first->second;
}

Value ValueWriter::compute(const Expression& node) {
  switch (node.op) {
    case Op::column:
      return column(node);
    case Op::literal:
    case Op::null:
      return literal(node);
    case Op::rescale:
      return exact(Op::multiply, value(node.args[0]), power(node.type.scale - scale_of(node.args[0]->type)), node.type);
    case Op::to_real:
      return to_real(node);
    case Op::negate: {
      const Value v = value(node.args[0]);
      if (v.form == Form::real) return named(Form::real, "-" + v.text, v.null, 0);
      return exact(Op::subtract, {.text = "(i64)0", .bits = 0}, v, node.type);
    }
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
      return named(Form::truth, "!" + v.text, v.null, 0);
    }
    case Op::is_null: {
      const Value v = value(node.args[0]);
      return {.text = v.null.empty() ? "false" : v.null, .form = Form::truth};
    }
    case Op::choose:
      return choose(node);
    case Op::has_word:
      return has_word(node);
  }
  detail::no_such_value();
}

Value ValueWriter::named(Form form, const std::string& text, std::string null, int bits) {
  const std::string name = fresh('v');
  line("const {} {} = {};", type_of(form), name, text);
  return {.text = name, .null = std::move(null), .form = form, .bits = bits};
}

std::string ValueWriter::null_of(const Value& a, const Value& b) {
  if (a.null.empty() || a.null == b.null) return b.null;
  if (b.null.empty()) return a.null;
  const std::string name = fresh('n');
  line("const bool {} = {} | {};", name, a.null, b.null);
  return name;
}

/// The CPU does the chunk where the condition holds, unless the value is NULL.
void ValueWriter::trouble(const std::string& condition, const std::string& null) {
  ++troubles_;
  if (null.empty()) {
    line("bad |= {};", condition);
  } else {
    line("bad |= ({}) && !{};", condition, null);
  }
}

Value ValueWriter::column(const Expression& node) {
  Value v = column_value(field(node.column), shape(node.column));
  v.text = v.form == Form::truth ? fmt::format("column{}[u]", node.column)
                                 : fmt::format("({})column{}[u]", type_of(v.form), node.column);
  if (shape(node.column).nullable) v.null = fmt::format("absent{}[u]", node.column);
  return v;
}

Value ValueWriter::literal(const Expression& node) {
  Value v;
  if (node.type.kind == ValueKind::real) {
    v.form = Form::real;
    v.text = fmt::format("real({}ULL)", std::bit_cast<std::uint64_t>(node.real));
  } else if (node.type.kind == ValueKind::boolean) {
    v.form = Form::truth;
    v.text = node.exact != 0 ? "true" : "false";
  } else if (node.exact >= INT64_MIN && node.exact <= INT64_MAX) {
    v.text = fmt::format("(i64){}ULL", static_cast<std::uint64_t>(node.exact));
    v.bits = std::min(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(magnitude(node.exact)))), 63);
  } else {
    const auto bits = static_cast<UInt128>(node.exact);
    v.form = Form::wide;
    v.text =
        fmt::format("join({}ULL, {}ULL)", static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64));
    v.bits = 127;
  }
  if (node.op == Op::null) v.null = "true";
  return v;
}

/// Integers and decimals: in 64 bits, in 64 checked, in 128, in 128 checked; the rules are evaluate.cpp's.
Value ValueWriter::exact(Op op, const Value& a, const Value& b, ValueType type) {
  if (type.kind == ValueKind::date) return date(op, a, b);
  const char* const names[] = {"add", "subtract", "multiply"};
  const char* const signs[] = {"+", "-", "*"};
  const int which = static_cast<int>(op) - static_cast<int>(Op::add);
  const int bits = op == Op::multiply ? a.bits + b.bits : std::max(a.bits, b.bits) + 1;
  const bool narrow = a.form == Form::narrow && b.form == Form::narrow;
  const std::string null = null_of(a, b);
  if (narrow && bits <= kNarrowBits) {
    return named(Form::narrow, fmt::format("{} {} {}", a.text, signs[which], b.text), null, bits);
  }
  const bool to_narrow = narrow && type.kind != ValueKind::decimal;
  if (!to_narrow && bits <= kWideBits) {
    return named(Form::wide, fmt::format("{} {} {}", widened(a), signs[which], widened(b)), null, bits);
  }
  const std::string over = fresh('o');
  line("bool {} = false;", over);
  const Value v =
      to_narrow
          ? named(Form::narrow, fmt::format("checked_{}({}, {}, {})", names[which], a.text, b.text, over), null, 63)
          : named(Form::wide, fmt::format("checked_{}({}, {}, {})", names[which], widened(a), widened(b), over), null,
                  127);
  trouble(over, null);
  return v;
}

/// Dates have 32 bits, as columns of them do.
Value ValueWriter::date(Op op, const Value& a, const Value& b) {
  constexpr int kDateBits = 31;
  Value v = exact(op, a, b, {ValueKind::decimal});
  if (v.bits <= kDateBits) return v;
  trouble(fmt::format("{} != (int){}", v.text, v.text), v.null);
  return named(Form::narrow, fmt::format("(i64)(int){}", v.text), v.null, kDateBits);
}

Value ValueWriter::arithmetic(const Expression& node) {
  const Value a = value(node.args[0]);
  const Value b = value(node.args[1]);
  if (node.type.kind != ValueKind::real) return exact(node.op, a, b, node.type);
  const char* const sign = node.op == Op::add ? "+" : node.op == Op::subtract ? "-" : "*";
  return named(Form::real, fmt::format("{} {} {}", a.text, sign, b.text), null_of(a, b), 0);
}

Value ValueWriter::divide(const Expression& node) {
  const Value a = value(node.args[0]);
  const Value b = value(node.args[1]);
  const std::string null = null_of(a, b);
  if (node.type.kind == ValueKind::real) {
    trouble(b.text + " == 0", null);
    return named(Form::real, a.text + " / " + b.text, null, 0);
  }
  const bool wide = a.form == Form::wide || b.form == Form::wide;
  const std::string no = fresh('o');
  const char* const least = wide ? "(i128)((u128)1 << 127)" : "(i64)(1ULL << 63)";
  const std::string top = wide ? widened(a) : a.text;
  const std::string bottom = wide ? widened(b) : b.text;
  line("const bool {} = {} == 0 || ({} == -1 && {} == {});", no, bottom, bottom, top, least);
  trouble(no, null);
  const Form form = wide ? Form::wide : Form::narrow;
  return named(form, fmt::format("{} ? ({})0 : {} / {}", no, type_of(form), top, bottom), null, a.bits);
}

/// The quotient of two float64 is rounded once: where both sides are one, that is the nearest.
Value ValueWriter::ratio(const Expression& node) {
  const Value a = value(node.args[0]);
  const Value b = value(node.args[1]);
  const std::string null = null_of(a, b);
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
  return named(Form::real, fmt::format("{} == 0 ? 0.0 : (double)(i64){} / (double)(i64){}", top, top, bottom), null, 0);
}

Value ValueWriter::to_real(const Expression& node) {
  constexpr int kExactTens = 22;  // 10^22 is a float64
  constexpr int kRealBits = 53;
  const Value a = value(node.args[0]);
  const int scale = scale_of(node.args[0]->type);
  if (scale == 0 && a.form == Form::narrow) return named(Form::real, "(double)(" + a.text + ")", a.null, 0);
  if (scale > kExactTens) {
    trouble("true", a.null);
  } else if (a.bits > kRealBits) {
    trouble(fmt::format("!is_real({})", a.text), a.null);
  }
  const Value by = power(std::min(scale, kExactTens));
  return named(Form::real, fmt::format("(double)(i64)({}) / (double)({})", a.text, by.text), a.null, 0);
}

Value ValueWriter::compare(const Expression& node) {
  Value a = value(node.args[0]);
  Value b = value(node.args[1]);
  const std::string null = null_of(a, b);
  if (a.form == Form::real) {
    const std::string text = node.op == Op::equal     ? fmt::format("is_equal({}, {})", a.text, b.text)
                             : node.op == Op::unequal ? fmt::format("!is_equal({}, {})", a.text, b.text)
                             : node.op == Op::less    ? fmt::format("is_less({}, {})", a.text, b.text)
                                                      : fmt::format("!is_less({}, {})", b.text, a.text);
    return named(Form::truth, text, null, 0);
  }
  const int finer = scale_of(node.args[0]->type) - scale_of(node.args[1]->type);
  const ValueType decimal{ValueKind::decimal};
  if (finer > 0) b = exact(Op::multiply, b, power(finer), decimal);
  if (finer < 0) a = exact(Op::multiply, a, power(-finer), decimal);
  const bool wide = a.form == Form::wide || b.form == Form::wide;
  constexpr const char* kSigns[] = {"==", "!=", "<", "<="};
  const char* const sign = kSigns[static_cast<int>(node.op) - static_cast<int>(Op::equal)];
  return named(Form::truth, fmt::format("{} {} {}", wide ? widened(a) : a.text, sign, wide ? widened(b) : b.text), null,
               0);
}

/// The right side is looked at where the left one leaves the matter open, if looking at it can fail.
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
      return named(Form::truth, fmt::format("{} {} {}", a.text, is_either ? "|" : "&", b.text), "", 0);
    }
    const std::string known = fresh('v');
    line("const bool {} = {} || {};", known, decides(a), decides(b));
    const std::string either_null = null_of(a, b);
    const std::string null = fresh('n');
    line("const bool {} = !{} && {};", null, known, either_null);
    return {.text = is_either ? known : fmt::format("(!{})", known), .null = null, .form = Form::truth};
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
  return {.text = v, .null = a.null.empty() && b.null.empty() ? "" : null, .form = Form::truth};
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
    scopes_.emplace_back();  // what a test has computed serves those behind it
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
    all.bits = std::max(all.bits, arm.value.bits);
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

Value ValueWriter::has_word(const Expression& node) {
  const Value a = value(node.args[0]);
  auto known = std::find(word_tests_.begin(), word_tests_.end(), &node);
  if (known == word_tests_.end()) known = word_tests_.insert(known, &node);
  // Their place among the arguments follows from how many there are: it is filled in at the end.
  const std::string passes = fmt::format("PASSES_{}", known - word_tests_.begin());
  const std::string there = a.null.empty() ? "" : fmt::format("!{} && ", a.null);
  return named(Form::truth, fmt::format("{}at<unsigned char>({}, {}) != 0", there, passes, a.text), a.null, 0);
}

}  // namespace upsweep::query
