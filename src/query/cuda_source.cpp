// SPDX-License-Identifier: Apache-2.0
// query/cuda_source.cpp: writes a query's kernels: rows in stages, values by SQL's rules, states that copies fold into.
//
// A thread takes several rows at a time. Stage by stage (a condition of WHERE, then the next, then keys and aggregates) it
// loads what the stage is the first to need, for those of its rows that are still kept, all loads before the first use:
// so many bytes are on their way, and none for rows that a condition has ruled out.
#include "query/cuda_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "query/number.hpp"

namespace upsweep::query {
namespace {

constexpr int kNarrowBits = 62;  // |value| <= 2^62 fits an int64, with room for the rounding up of bounds
constexpr int kWideBits = 126;
constexpr int kThreadsResident = 1024;  // on a multiprocessor: 64 registers each

enum class Form : std::uint8_t { narrow, wide, real, truth };

/// An expression's value in the text: names, or constants. `null` is empty where it never is NULL.
struct Value {
  std::string text;
  std::string null;
  Form form = Form::narrow;
  int bits = 0;  ///< of narrow and wide ones: |value| <= 2^bits
};

const char* type_of(Form form) {
  constexpr const char* kTypes[] = {"i64", "i128", "double", "bool"};
  return kTypes[static_cast<int>(form)];
}
std::string widened(const Value& v) { return v.form == Form::wide ? v.text : "(i128)" + v.text; }

// ------------------------------------------------------------------------------------------------- what every source has

constexpr std::string_view kPrelude = R"(typedef long long i64;
typedef unsigned long long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
#define INLINE static __device__ __forceinline__

INLINE i64 checked_add(i64 a, i64 b, bool& bad) {
  const i64 r = (i64)((u64)a + (u64)b);
  bad |= ((a ^ r) & (b ^ r)) < 0;
  return r;
}
INLINE i64 checked_subtract(i64 a, i64 b, bool& bad) {
  const i64 r = (i64)((u64)a - (u64)b);
  bad |= ((a ^ b) & (a ^ r)) < 0;
  return r;
}
INLINE i64 checked_multiply(i64 a, i64 b, bool& bad) {
  const i64 low = (i64)((u64)a * (u64)b);
  bad |= __mul64hi(a, b) != (low >> 63);
  return low;
}
INLINE i128 checked_add(i128 a, i128 b, bool& bad) {
  const i128 r = (i128)((u128)a + (u128)b);
  bad |= ((a ^ r) & (b ^ r)) < 0;
  return r;
}
INLINE i128 checked_subtract(i128 a, i128 b, bool& bad) {
  const i128 r = (i128)((u128)a - (u128)b);
  bad |= ((a ^ b) & (a ^ r)) < 0;
  return r;
}
INLINE u128 magnitude(i128 a) { return a < 0 ? (u128)0 - (u128)a : (u128)a; }
INLINE i128 checked_multiply(i128 a, i128 b, bool& bad) {
  const u128 x = magnitude(a), y = magnitude(b);
  const u64 x_high = (u64)(x >> 64), y_high = (u64)(y >> 64);
  const u128 cross = (u128)x_high * (u64)y + (u128)y_high * (u64)x;
  const u128 low = (u128)(u64)x * (u64)y;
  const u128 r = low + (cross << 64);
  const bool negative = (a < 0) != (b < 0);
  const u128 most = ((u128)1 << 127) - (negative ? 0 : 1);
  bad |= (x_high != 0 && y_high != 0) || (cross >> 64) != 0 || r < low || r > most;
  return (i128)(negative ? (u128)0 - r : r);
}
// NaN is equal to itself and greater than all else.
INLINE bool is_less(double a, double b) { return a < b || (b != b && a == a); }
INLINE bool is_equal(double a, double b) { return a == b || (a != a && b != b); }
INLINE bool is_real(i128 a) { return magnitude(a) <= (u128)1 << 53; }
INLINE i128 join(u64 low, u64 high) { return (i128)((u128)high << 64 | low); }
INLINE double real(u64 bits) { return __longlong_as_double((i64)bits); }
INLINE u64 bits_of(double value) { return (u64)__double_as_longlong(value); }
template <class T>
INLINE T at(u64 values, i64 row) { return __ldg((const T*)values + row); }
INLINE i128 wide_at(u64 values, i64 row) {
  return join(__ldg((const u64*)values + 2 * row), __ldg((const u64*)values + 2 * row + 1));
}
INLINE bool bit_at(u64 bits, i64 row) { return (__ldg((const unsigned char*)bits + (row >> 3)) >> (row & 7)) & 1; }
)";

struct Loaded {
  const char* type;  ///< as which a thread keeps it
  int bytes;
  const char* load;
};

Loaded loading(Storage storage) {
  constexpr Loaded kAll[] = {
      {"signed char", 1, "at<signed char>"},
      {"short", 2, "at<short>"},
      {"int", 4, "at<int>"},
      {"i64", 8, "at<i64>"},
      {"unsigned char", 1, "at<unsigned char>"},
      {"unsigned short", 2, "at<unsigned short>"},
      {"unsigned", 4, "at<unsigned>"},
      {"u64", 8, "at<u64>"},
      {"i128", 16, "wide_at"},
      {"float", 4, "at<float>"},
      {"double", 8, "at<double>"},
      {"bool", 1, "bit_at"},
  };
  return kAll[static_cast<int>(storage)];
}

Value column_value(const Field& field, const ColumnShape& shape) {
  constexpr int kBits[] = {7, 15, 31, 63, 8, 16, 32, 64, 127, 0, 0, 0};
  const Storage storage = field.storage;
  const int bits = storage == Storage::int64 ? shape.bits : kBits[static_cast<int>(storage)];
  switch (storage) {
    case Storage::float32:
    case Storage::float64:
      return {.form = Form::real};
    case Storage::bit:
      return {.form = Form::truth};
    case Storage::uint64:
    case Storage::int128:
      return {.form = Form::wide, .bits = bits};
    default:
      return {.form = Form::narrow, .bits = bits};
  }
}

void add_columns(const Node& node, std::set<int>& columns, std::set<int>& seen) {
  if (!seen.insert(node->id).second) return;
  if (node->op == Op::column) columns.insert(node->column);
  for (const Node& arg : node->args) add_columns(arg, columns, seen);
}

// ----------------------------------------------------------------------------------------------------------- expressions

class Generator {
 public:
  Generator(const Plan& plan, const SourceOptions& options) : plan_(plan), options_(options) {
    std::set<int> columns;
    for (const Node& filter : plan.filters) add_columns(filter, columns, seen_by_rows_);
    for (const Node& key : plan.keys) add_columns(key, columns, seen_by_rows_);
    for (const Aggregate& aggregate : plan.aggregates) {
      if (aggregate.input) add_columns(aggregate.input, columns, seen_by_rows_);
    }
    int bytes = 0;
    for (const int column : columns) bytes += loading(field(column).storage).bytes;
    // What a thread has loaded fills at most about half of its registers.
    source_.rows_per_thread = bytes <= 24 ? 8 : bytes <= 48 ? 4 : bytes <= 96 ? 2 : 1;
  }

  Source fold();
  Source number();

 private:
  // ---- text
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  std::string fresh(char kind) { return fmt::format("{}{}", kind, names_++); }
  /// What `write` writes, apart.
  template <class Write>
  std::string apart(Write write) {
    std::string before = std::exchange(out_, {});
    write();
    return std::exchange(out_, std::move(before));
  }
  [[nodiscard]] const Field& field(int column) const { return plan_.fields[static_cast<std::size_t>(column)]; }
  [[nodiscard]] const ColumnShape& shape(int column) const {
    return options_.columns[static_cast<std::size_t>(column)];
  }
  [[nodiscard]] std::string word(int number) const { return fmt::format("a.w[{}]", number); }
  [[nodiscard]] int values_of(int column) const { return argument::first_column + 2 * column; }

  // ---- values
  const Value& value(const Node& node);
  Value compute(const Expression& node);
  Value named(Form form, const std::string& text, std::string null, int bits);
  std::string null_of(const Value& a, const Value& b);
  Value column(const Expression& node);
  Value literal(const Expression& node);
  Value exact(Op op, const Value& a, const Value& b, ValueType type);
  Value arithmetic(const Expression& node);
  Value divide(const Expression& node);
  Value ratio(const Expression& node);
  Value to_real(const Expression& node);
  Value compare(const Expression& node);
  Value both_or_either(const Expression& node);
  Value choose(const Expression& node);
  Value has_word(const Expression& node);
  void trouble(const std::string& condition, const std::string& null);
  static Value power(int exponent);

  // ---- stages
  void load(const std::vector<Node>& nodes);
  void filters();
  void for_rows(const std::string& body);
  std::string group_of_row();
  void open_kernel(const char* name, bool with_cells);
  std::string header(const std::string& body) const;

  // ---- states
  int cell(StateCell cell);
  int count_of(const Node& input, const Value& v);
  std::string accumulate();
  void place_cells();
  std::string merge_function(bool own) const;
  void add_arguments();

  const Plan& plan_;
  const SourceOptions& options_;
  std::set<int> seen_by_rows_;
  Source source_;
  std::string out_;
  int names_ = 0;
  int troubles_ = 0;
  std::vector<std::map<int, Value>> scopes_{1};
  std::set<int> loaded_;
  std::map<int, int> count_cells_;  ///< by the input's id
};

const Value& Generator::value(const Node& node) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto known = scope->find(node->id); known != scope->end()) return known->second;
  }
  Value v = compute(*node);
  return scopes_.back().emplace(node->id, std::move(v)).first->second;
}

Value Generator::compute(const Expression& node) {
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
    default:
      return has_word(node);
  }
}

Value Generator::named(Form form, const std::string& text, std::string null, int bits) {
  const std::string name = fresh('v');
  line("const {} {} = {};", type_of(form), name, text);
  return {.text = name, .null = std::move(null), .form = form, .bits = bits};
}

std::string Generator::null_of(const Value& a, const Value& b) {
  if (a.null.empty() || a.null == b.null) return b.null;
  if (b.null.empty()) return a.null;
  const std::string name = fresh('n');
  line("const bool {} = {} | {};", name, a.null, b.null);
  return name;
}

/// The CPU does the chunk where the condition holds, unless the value is NULL.
void Generator::trouble(const std::string& condition, const std::string& null) {
  ++troubles_;
  if (null.empty()) {
    line("bad |= {};", condition);
  } else {
    line("bad |= ({}) && !{};", condition, null);
  }
}

Value Generator::power(int exponent) {
  const Int128 factor = power_of_ten(exponent);
  const auto low = static_cast<std::uint64_t>(static_cast<UInt128>(factor));
  const auto high = static_cast<std::uint64_t>(static_cast<UInt128>(factor) >> 64);
  const int bits = high != 0 ? 64 + static_cast<int>(std::bit_width(high)) : static_cast<int>(std::bit_width(low));
  if (bits <= 63) return {.text = fmt::format("(i64){}LL", low), .bits = bits};
  return {.text = fmt::format("join({}ULL, {}ULL)", low, high), .form = Form::wide, .bits = bits};
}

Value Generator::column(const Expression& node) {
  Value v = column_value(field(node.column), shape(node.column));
  v.text = v.form == Form::truth ? fmt::format("column{}[u]", node.column)
                                 : fmt::format("({})column{}[u]", type_of(v.form), node.column);
  if (shape(node.column).nullable) v.null = fmt::format("absent{}[u]", node.column);
  return v;
}

Value Generator::literal(const Expression& node) {
  Value v;
  const UInt128 size = magnitude(node.exact);
  if (node.type.kind == ValueKind::real) {
    v.form = Form::real;
    v.text = fmt::format("real({}ULL)", std::bit_cast<std::uint64_t>(node.real));
  } else if (node.type.kind == ValueKind::boolean) {
    v.form = Form::truth;
    v.text = node.exact != 0 ? "true" : "false";
  } else if (size <= static_cast<UInt128>(INT64_MAX)) {
    v.text = fmt::format("(i64){}LL", static_cast<std::int64_t>(node.exact));
    v.bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size)));
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
Value Generator::exact(Op op, const Value& a, const Value& b, ValueType type) {
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

Value Generator::arithmetic(const Expression& node) {
  const Value a = value(node.args[0]);
  const Value b = value(node.args[1]);
  if (node.type.kind != ValueKind::real) return exact(node.op, a, b, node.type);
  const char* const sign = node.op == Op::add ? "+" : node.op == Op::subtract ? "-" : "*";
  return named(Form::real, fmt::format("{} {} {}", a.text, sign, b.text), null_of(a, b), 0);
}

Value Generator::divide(const Expression& node) {
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
Value Generator::ratio(const Expression& node) {
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

Value Generator::to_real(const Expression& node) {
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

Value Generator::compare(const Expression& node) {
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
Value Generator::both_or_either(const Expression& node) {
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

Value Generator::choose(const Expression& node) {
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

Value Generator::has_word(const Expression& node) {
  const Value a = value(node.args[0]);
  auto& tests = source_.word_tests;
  auto known = std::find(tests.begin(), tests.end(), &node);
  if (known == tests.end()) known = tests.insert(tests.end(), &node);
  // Their place among the arguments follows from how many there are: it is filled in at the end.
  const std::string passes = fmt::format("PASSES_{}", known - tests.begin());
  const std::string there = a.null.empty() ? "" : fmt::format("!{} && ", a.null);
  return named(Form::truth, fmt::format("{}at<unsigned char>({}, {}) != 0", there, passes, a.text), a.null, 0);
}

// ---------------------------------------------------------------------------------------------------------------- stages

/// What the nodes are the first to need, of the rows that are kept.
void Generator::load(const std::vector<Node>& nodes) {
  std::set<int> columns;
  std::set<int> seen;
  for (const Node& node : nodes) add_columns(node, columns, seen);
  for (const int c : columns) {
    if (!loaded_.insert(c).second) continue;
    const Loaded how = loading(field(c).storage);
    line("{} column{}[U];", how.type, c);
    line("#pragma unroll");
    line("for (int u = 0; u < U; ++u) column{}[u] = keep[u] ? {}({}, first + u * T) : {}(0);", c, how.load,
         word(values_of(c)), fmt::format("({})", how.type));
    if (!shape(c).nullable) continue;
    line("bool absent{}[U];", c);
    line("#pragma unroll");
    line("for (int u = 0; u < U; ++u) absent{}[u] = keep[u] && !bit_at({}, first + u * T);", c, word(values_of(c) + 1));
  }
}

void Generator::for_rows(const std::string& body) {
  line("#pragma unroll");
  line("for (int u = 0; u < U; ++u) {{");
  out_ += body;
  line("}}");
}

void Generator::filters() {
  for (const Node& filter : plan_.filters) {
    load({filter});
    scopes_.emplace_back();
    for_rows(apart([&] {
      line("if (keep[u]) {{");
      const Value& v = value(filter);
      line("keep[u] = {}{};", v.text, v.null.empty() ? "" : " && !" + v.null);
      line("}}");
    }));
    scopes_.pop_back();
  }
}

void Generator::open_kernel(const char* name, bool with_cells) {
  line("extern \"C\" __global__ void __launch_bounds__(T, {}) {}(const __grid_constant__ Words a) {{",
       std::max(kThreadsResident / options_.threads, 1), name);
  line("const i64 rows = (i64){};", word(argument::rows));
  line("const int lane = (int)threadIdx.x % 32;");
  line("bool bad = false;");
  if (with_cells && options_.copies != Copies::registers) line("const i64 groups = (i64){};", word(argument::groups));
  if (with_cells && options_.copies == Copies::registers) line("u64 s[OWN] = {{}};");
  if (with_cells && options_.copies == Copies::threads) {
    line("extern __shared__ u64 cells[];");
    line("for (i64 k = threadIdx.x; k < groups * OWN * T; k += T) cells[k] = 0;");
    // A thread has cleared what it alone uses: every T-th word.
  }
  if (with_cells && options_.copies == Copies::warps) {
    line("u64* const own = (u64*){} + (i64)(blockIdx.x * (T / 32) + threadIdx.x / 32) * groups * OWN;",
         word(argument::partials));
  }
  line("for (i64 base = (i64)blockIdx.x * (T * U); base < rows; base += (i64)gridDim.x * (T * U)) {{");
  line("const i64 first = base + threadIdx.x;");
  line("bool keep[U];");
  line("#pragma unroll");
  line("for (int u = 0; u < U; ++u) keep[u] = first + u * T < rows;");
}

/// The group of row u, which is kept.
std::string Generator::group_of_row() {
  if (options_.keying == Keying::hashed) return "id[u]";
  std::string group;
  for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
    const Value v = value(plan_.keys[k]);
    const std::string slots = fmt::format("SLOTS_{}", k);
    std::string slot = fmt::format("(i64){}", v.text);
    if (!v.null.empty()) slot = fmt::format("({} ? {} - 1 : {})", v.null, slots, slot);
    group = k == 0 ? slot : fmt::format("({}) * {} + {}", group, slots, slot);
  }
  return group;
}

// ---------------------------------------------------------------------------------------------------------------- states

int Generator::cell(StateCell cell) {
  source_.cells.push_back(cell);
  return static_cast<int>(source_.cells.size()) - 1;
}

/// The cell that counts the rows where an input is there.
int Generator::count_of(const Node& input, const Value& v) {
  if (v.null.empty()) return 0;  // every row
  const auto [known, is_new] = count_cells_.emplace(input->id, 0);
  if (is_new) known->second = cell({.kind = StateCell::Kind::count});
  return known->second;
}

void Generator::place_cells() {
  for (StateCell& cell : source_.cells) {
    cell.own_at = source_.own_words;
    cell.at = source_.words;
    source_.own_words += cell.own_wide ? 2 : 1;
    source_.words += cell.wide ? 2 : 1;
  }
}

/// What a kept row adds to the state that AT() leads to.
std::string Generator::accumulate() {
  using Kind = StateCell::Kind;
  cell({.kind = Kind::rows});
  if (plan_.grouped) cell({.kind = Kind::first_row});
  struct Input {
    int cell;
    Value value;
  };
  std::vector<Input> inputs;
  std::map<std::pair<int, int>, int> made;  // two aggregates of one input and kind share their cell
  const std::string computing = apart([&] {
    for (const Aggregate& aggregate : plan_.aggregates) {
      source_.values.push_back(-1);
      source_.counts.push_back(0);
      if (aggregate.fold == Fold::count_rows) continue;
      Value v = value(aggregate.input);
      source_.counts.back() = count_of(aggregate.input, v);
      if (aggregate.fold == Fold::count) {
        inputs.push_back({source_.counts.back(), v});
        continue;
      }
      const auto [known, is_new] = made.emplace(std::pair(aggregate.input->id, static_cast<int>(aggregate.fold)), 0);
      if (is_new) {
        StateCell added{.kind = Kind::sum};
        if (aggregate.fold == Fold::sum) {
          if (v.form == Form::real) added.kind = Kind::real_sum;
          added.own_wide = v.form != Form::real && (v.form == Form::wide || v.bits + options_.copy_bits > kNarrowBits);
          added.wide = v.form != Form::real;
          added.checked = v.form == Form::wide && v.bits + 32 > kWideBits;
        } else {
          if (aggregate.input->type.kind == ValueKind::text) {
            const int column = aggregate.input->column;
            auto& ranked = source_.ranked;
            auto place = std::find(ranked.begin(), ranked.end(), column);
            if (place == ranked.end()) place = ranked.insert(ranked.end(), column);
            const std::string there = v.null.empty() ? "true" : "!" + v.null;
            v = named(Form::narrow,
                      fmt::format("{} ? (i64)at<int>(RANKS_{}, {}) : 0", there, place - ranked.begin(), v.text), v.null,
                      31);
          }
          added.kind = v.form == Form::real ? Kind::real_extreme : Kind::extreme;
          added.least = aggregate.fold == Fold::least;
          added.own_wide = added.wide = v.form == Form::wide;
          added.guard = source_.counts.back();
        }
        known->second = cell(added);
        inputs.push_back({known->second, v});
      }
      source_.values.back() = known->second;
      if (source_.counts.back() != 0) inputs.push_back({source_.counts.back(), v});
    }
  });
  place_cells();

  const auto& cells = source_.cells;
  const auto at = [&](int which, int word = 0) {
    return fmt::format("AT({})", cells[static_cast<std::size_t>(which)].own_at + word);
  };
  const std::string adding = apart([&] {
    std::set<int> done;
    // Extremes look at the counts, so these come behind them.
    for (const bool counts : {false, true}) {
      for (const Input& input : inputs) {
        const StateCell& c = cells[static_cast<std::size_t>(input.cell)];
        const bool is_count = c.kind == Kind::count;
        if (is_count != counts || input.cell == 0 || !done.insert(input.cell).second) continue;
        const Value& v = input.value;
        const std::string there = v.null.empty() ? "" : fmt::format("if (!{}) ", v.null);
        const std::string low = at(input.cell);
        const std::string high = c.own_wide ? at(input.cell, 1) : "";
        const std::string before = c.own_wide ? fmt::format("join({}, {})", low, high) : fmt::format("(i64){}", low);
        const auto put_wide = [&](const std::string& text) {
          line("{{ const i128 t = {}; {} = (u64)(u128)t; {} = (u64)((u128)t >> 64); }}", text, low, high);
        };
        line("{}{{", there);
        if (is_count) {
          line("{} += 1;", low);
        } else if (c.kind == Kind::real_sum) {
          line("{} = bits_of(real({}) + {});", low, low, v.text);
        } else if (c.kind == Kind::sum && !c.own_wide) {
          line("{} += (u64){};", low, v.text);
        } else if (c.kind == Kind::sum && c.checked) {
          put_wide(fmt::format("checked_add({}, {}, bad)", before, widened(v)));
        } else if (c.kind == Kind::sum) {
          put_wide(fmt::format("{} + {}", before, widened(v)));
        } else if (c.kind == Kind::real_extreme) {
          line("if ({} == 0 || {}) {} = bits_of({});", at(c.guard),
               c.least ? fmt::format("is_less({}, real({}))", v.text, low)
                       : fmt::format("is_less(real({}), {})", low, v.text),
               low, v.text);
        } else {
          line("if ({} == 0 || {} {} {}) {{", at(c.guard), v.text, c.least ? "<" : ">", before);
          if (c.own_wide) {
            put_wide(widened(v));
          } else {
            line("{} = (u64)(i64){};", low, v.text);
          }
          line("}}");
        }
        line("}}");
      }
    }
    if (plan_.grouped) line("if (AT(0) == 0) AT(1) = (u64)(first + u * T);");
    line("AT(0) += 1;");
  });
  return computing + adding;
}

/// void merge_…(s, o, bad): what o has come to goes into s. Of copies, or of what copies are merged into.
std::string Generator::merge_function(bool own) const {
  using Kind = StateCell::Kind;
  std::string text = fmt::format("INLINE void merge_{}(u64* s, const u64* o, bool& bad) {{\n", own ? "own" : "all");
  const auto& cells = source_.cells;
  const auto place = [&](const StateCell& c) { return own ? c.own_at : c.at; };
  for (const StateCell& c : cells) {
    if (c.kind != Kind::extreme && c.kind != Kind::real_extreme) continue;
    const int k = place(c);
    const int guard = place(cells[static_cast<std::size_t>(c.guard)]);
    const bool two = own ? c.own_wide : c.wide;
    const auto get = [&](const char* from) {
      return c.kind == Kind::real_extreme ? fmt::format("real({}[{}])", from, k)
             : two                        ? fmt::format("join({}[{}], {}[{}])", from, k, from, k + 1)
                                          : fmt::format("(i64){}[{}]", from, k);
    };
    const std::string a = c.least ? get("o") : get("s");
    const std::string b = c.least ? get("s") : get("o");
    const std::string better = c.kind == Kind::real_extreme ? fmt::format("is_less({}, {})", a, b) : a + " < " + b;
    text += fmt::format("  if (o[{}] != 0 && (s[{}] == 0 || {})) {{ s[{}] = o[{}];", guard, guard, better, k, k);
    if (two) text += fmt::format(" s[{}] = o[{}];", k + 1, k + 1);
    text += " }\n";
  }
  for (const StateCell& c : cells) {
    const int k = place(c);
    const bool two = own ? c.own_wide : c.wide;
    if (c.kind == Kind::first_row) {
      text += fmt::format("  if (o[0] != 0 && (s[0] == 0 || o[{}] < s[{}])) s[{}] = o[{}];\n", k, k, k, k);
    } else if (c.kind == Kind::real_sum) {
      text += fmt::format("  s[{}] = bits_of(real(s[{}]) + real(o[{}]));\n", k, k, k);
    } else if (c.kind == Kind::sum && two) {
      text += fmt::format(
          "  {{ const i128 t = checked_add(join(s[{}], s[{}]), join(o[{}], o[{}]), bad); s[{}] = (u64)(u128)t; s[{}] = "
          "(u64)((u128)t >> 64); }}\n",
          k, k + 1, k, k + 1, k, k + 1);
    } else if (c.kind == Kind::sum || c.kind == Kind::count) {
      text += fmt::format("  s[{}] += o[{}];\n", k, k);
    }
  }
  return text + "  s[0] += o[0];\n}\n";
}

void Generator::add_arguments() {
  int next = argument::first_column + 2 * static_cast<int>(plan_.columns.size());
  for (std::size_t i = 0; i < source_.word_tests.size(); ++i)
    out_ += fmt::format("#define PASSES_{} a.w[{}]\n", i, next++);
  for (std::size_t i = 0; i < source_.ranked.size(); ++i) out_ += fmt::format("#define RANKS_{} a.w[{}]\n", i, next++);
  source_.first_slots = next;
  for (std::size_t i = 0; i < plan_.keys.size(); ++i) out_ += fmt::format("#define SLOTS_{} (i64)a.w[{}]\n", i, next++);
  source_.arguments = next;
}

std::string Generator::header(const std::string& body) const {
  return fmt::format("{}struct Words {{ u64 w[{}]; }};\nconstexpr int T = {}, U = {}, OWN = {}, ALL = {};\n{}",
                     kPrelude, source_.arguments, options_.threads, source_.rows_per_thread,
                     std::max(source_.own_words, 1), std::max(source_.words, 1), body);
}

constexpr std::string_view kFoldLanes = R"(template <int WORDS, class Merge>
INLINE void fold_lanes(u64 (&s)[WORDS], int lane, bool& bad, Merge merge) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    u64 o[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; ++k) o[k] = __shfl_down_sync(~0U, s[k], d);
    if ((lane & (2 * d - 1)) == 0) merge(s, o, bad);
  }
}
struct MergeOwn {
  __device__ void operator()(u64* s, const u64* o, bool& bad) const { merge_own(s, o, bad); }
};
struct MergeAll {
  __device__ void operator()(u64* s, const u64* o, bool& bad) const { merge_all(s, o, bad); }
};
)";

// Behind the rows: the block's copies become one.
constexpr std::string_view kFoldRegisters = R"(fold_lanes(s, lane, bad, MergeOwn());
__shared__ u64 warps[T / 32][OWN];
if (lane == 0) {
  for (int k = 0; k < OWN; ++k) warps[threadIdx.x / 32][k] = s[k];
}
__syncthreads();
if (threadIdx.x < 32) {
  for (int k = 0; k < OWN; ++k) s[k] = lane < T / 32 ? warps[lane][k] : 0;
  fold_lanes(s, lane, bad, MergeOwn());
  if (lane == 0) {
    for (int k = 0; k < OWN; ++k) partials[blockIdx.x * OWN + k] = s[k];
  }
}
)";
constexpr std::string_view kFoldThreads = R"(__syncthreads();
for (i64 g = threadIdx.x / 32; g < groups; g += T / 32) {
  u64 s[OWN] = {};
  for (int t = lane; t < T; t += 32) {
    u64 o[OWN];
    for (int k = 0; k < OWN; ++k) o[k] = cells[(g * OWN + k) * T + t];
    merge_own(s, o, bad);
  }
  fold_lanes(s, lane, bad, MergeOwn());
  if (lane == 0) {
    for (int k = 0; k < OWN; ++k) partials[(blockIdx.x * groups + g) * OWN + k] = s[k];
  }
}
)";
// Lanes with one group take turns: by rank, so that the order is that of the rows.
constexpr std::string_view kTakeTurns = R"(const unsigned peers = __match_any_sync(~0U, group);
const int rank = keep[u] ? __popc(peers & ((1U << lane) - 1)) : -1;
for (int turn = 0; __any_sync(~0U, rank >= turn); ++turn) {
if (rank == turn) {
u64* const s = own + group * OWN;
)";

Source Generator::fold() {
  open_kernel("fold", true);
  std::vector<Node> needed;
  if (options_.keying == Keying::hashed) {
    line("int id[U];");
    line("#pragma unroll");
    line("for (int u = 0; u < U; ++u) {{");
    line("id[u] = keep[u] ? at<int>({}, first + u * T) : -1;", word(argument::ids));
    line("keep[u] = id[u] >= 0;");
    line("}}");
  } else {
    filters();
    needed = plan_.keys;
  }
  for (const Aggregate& aggregate : plan_.aggregates) {
    if (aggregate.input) needed.push_back(aggregate.input);
  }
  load(needed);
  const bool turns = options_.copies == Copies::warps;
  std::string kept;
  for_rows(apart([&] {
    if (turns) line("i64 group = -1 - lane;");
    line("if (keep[u]) {{");
    if (turns) {
      line("group = id[u];");
      line("}}");
      out_ += kTakeTurns;
    } else if (options_.copies == Copies::threads) {
      line("u64* const s = cells + (i64)({}) * OWN * T + threadIdx.x;", group_of_row());
    }
    out_ += accumulate();
    line("}}");
    if (turns) {
      line("__syncwarp();");
      line("}}");
    }
  }));
  line("}}");
  if (!turns) {
    line("u64* const partials = (u64*){};", word(argument::partials));
    out_ += options_.copies == Copies::threads ? kFoldThreads : kFoldRegisters;
  }
  line("if (bad) *(int*){} = 1;", word(argument::trouble));
  line("}}");
  const std::string kernel = std::exchange(out_, {});

  add_arguments();
  out_ += fmt::format("#define AT(k) s[{}]\n", options_.copies == Copies::threads ? "(k) * T" : "k");
  out_ += merge_function(true);
  out_ += merge_function(false);
  out_ += kFoldLanes;
  out_ += kernel;
  // ---- merge
  line("INLINE void widen(const u64* from, u64* to) {{");
  for (const StateCell& c : source_.cells) {
    line("to[{}] = from[{}];", c.at, c.own_at);
    if (c.wide && c.own_wide) line("to[{}] = from[{}];", c.at + 1, c.own_at + 1);
    if (c.wide && !c.own_wide) line("to[{}] = (u64)((i64)from[{}] >> 63);", c.at + 1, c.own_at);
  }
  line("}}");
  out_ += fmt::format(
      R"(extern "C" __global__ void __launch_bounds__(128) merge(const __grid_constant__ Words a) {{
  const int lane = (int)threadIdx.x % 32;
  const i64 groups = (i64)a.w[{}], copies = (i64)a.w[{}];
  const u64* const partials = (const u64*)a.w[{}];
  u64* const merged = (u64*)a.w[{}];
  bool bad = false;
  for (i64 g = (i64)blockIdx.x * 4 + threadIdx.x / 32; g < groups; g += (i64)gridDim.x * 4) {{
    u64 s[ALL] = {{}};
    for (i64 copy = lane; copy < copies; copy += 32) {{
      u64 o[ALL];
      widen(partials + (copy * groups + g) * OWN, o);
      merge_all(s, o, bad);
    }}
    fold_lanes(s, lane, bad, MergeAll());
    if (lane == 0) {{
      for (int k = 0; k < ALL; ++k) merged[g * ALL + k] = s[k];
    }}
  }}
  if (bad) *(int*)a.w[{}] = 1;
}}
)",
      +argument::groups, +argument::copies, +argument::partials, +argument::merged, +argument::trouble);
  source_.text = header(out_);
  return std::move(source_);
}

// ------------------------------------------------------------------------------------------------------------- numbering

constexpr std::string_view kFind = R"(INLINE int find(const Words& a, const u64 (&key)[KEY]) {{
  unsigned* const tags = (unsigned*)a.w[{tags}];
  u64* const keys = (u64*)a.w[{keys}];
  const unsigned mask = (unsigned)a.w[{mask}];
  u64 hash = 0;
  for (int k = 0; k < KEY; ++k) {{
    hash = hash * 31 + key[k];
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  }}
  // A tag: 0 free, 1 being taken, all ones given up, else a group + 2 whose key is there.
  for (unsigned place = (unsigned)hash & mask;; place = (place + 1) & mask) {{
    unsigned tag = *(volatile unsigned*)(tags + place);
    if (tag == 0) {{
      tag = atomicCAS(tags + place, 0U, 1U);
      if (tag == 0) {{
        const unsigned group = atomicAdd((unsigned*)a.w[{found}], 1U);
        if (group >= (unsigned)a.w[{limit}]) {{
          ((int*)a.w[{trouble}])[1] = 1;
          atomicExch(tags + place, ~0U);
          return -1;
        }}
        for (int k = 0; k < KEY; ++k) keys[(i64)group * KEY + k] = key[k];
        __threadfence();  // the key is there before the tag says so
        atomicExch(tags + place, group + 2);
        return (int)group;
      }}
    }}
    while (tag == 1) tag = *(volatile unsigned*)(tags + place);
    if (tag == ~0U) return -1;
    __threadfence();  // the tag is read before the key
    const u64* const known = keys + (i64)(tag - 2) * KEY;
    bool same = true;
    for (int k = 0; k < KEY; ++k) same &= __ldcg(known + k) == key[k];
    if (same) return (int)(tag - 2);
  }}
}}
)";

Source Generator::number() {
  open_kernel("number_rows", false);
  filters();
  load(plan_.keys);
  int words = 0;
  for_rows(apart([&] {
    line("int id = -1;");
    line("if (keep[u]) {{");
    line("u64 key[KEY];");
    std::string nulls = "0";
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      const Value v = value(plan_.keys[k]);
      const std::string there = v.null.empty() ? "" : fmt::format("{} ? 0 : ", v.null);
      source_.wide_keys.push_back(v.form == Form::wide);
      if (v.form == Form::wide) {
        line("key[{}] = {}(u64)(u128)({});", words, there, v.text);
        line("key[{}] = {}(u64)((u128)({}) >> 64);", words + 1, there, v.text);
        words += 2;
      } else {
        line("key[{}] = {}(u64)(i64)({});", words++, there, v.text);
      }
      if (!v.null.empty()) nulls += fmt::format(" | (u64){} << {}", v.null, k);
    }
    line("key[{}] = {};", words++, nulls);
    line("id = find(a, key);");
    line("}}");
    line("if (first + u * T < rows) ((int*){})[first + u * T] = id;", word(argument::ids));
  }));
  line("}}");
  line("if (bad) *(int*){} = 1;", word(argument::trouble));
  line("}}");
  const std::string kernel = std::exchange(out_, {});
  add_arguments();
  line("constexpr int KEY = {};", words);
  out_ += fmt::format(kFind, fmt::arg("tags", +argument::tags), fmt::arg("keys", +argument::keys),
                      fmt::arg("mask", +argument::mask), fmt::arg("found", +argument::found),
                      fmt::arg("limit", +argument::limit), fmt::arg("trouble", +argument::trouble));
  out_ += kernel;
  source_.words = words;
  source_.text = header(out_);
  return std::move(source_);
}

}  // namespace

Source fold_source(const Plan& plan, const SourceOptions& options) { return Generator(plan, options).fold(); }
Source number_source(const Plan& plan, const SourceOptions& options) { return Generator(plan, options).number(); }

}  // namespace upsweep::query
