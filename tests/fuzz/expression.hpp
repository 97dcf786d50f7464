// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/expression.hpp: well-typed expressions made from bytes, as SQL, and their meaning, row by row.
//
// The meaning is implemented a second time, as simply as possible: one value at a time in 128 bits, three-valued logic.
// It covers integers, booleans and comparisons of dates and strings. Decimals, floats and expressions of them are only
// compared between the different ways to run a query.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/rows.hpp"
#include "upsweep/error.hpp"

namespace upsweep::fuzz {

enum class Op : std::uint8_t { column, literal, negate, arithmetic, compare, both, either, invert, is_null, choose };

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Node {
  Op op = Op::literal;
  ValueKind kind = ValueKind::integer;
  std::string sql = {};
  std::string symbol = {};  ///< of arithmetic and comparisons
  std::vector<NodePtr> args = {};
  int column = 0;
  Int128 exact = 0;
  bool null = false;  ///< the literal NULL
  bool wide = false;  ///< an integer of 128 bits, because it contains a uint64 column
  bool known = true;  ///< the interpreter below can evaluate it
  bool has_column = false;
  bool overflows = false;  ///< in an expression that is computed when the query is bound
};

// ------------------------------------------------------------------------------------------------------- what it means

/// Errors in a row's expressions. A query may report any of them.
using Failures = std::set<std::pair<Code, std::int64_t>>;

struct Value {
  bool failed = false;
  bool null = false;
  Int128 exact = 0;
};

class Interpreter {
 public:
  Interpreter(const Rows& rows, std::int64_t row, Failures& failures) : rows_(rows), row_(row), failures_(failures) {}

  Value value(const Node& node) {
    switch (node.op) {
      case Op::column:
        return {.null = !rows_.is_there(node.column, row_), .exact = rows_.exact(node.column, row_)};
      case Op::literal:
        return {.null = node.null, .exact = node.exact};
      case Op::negate:
        return fitting(node, Value{}, value(*node.args[0]), "-");
      case Op::arithmetic:
        return arithmetic(node);
      case Op::compare:
        return compare(node);
      case Op::both:
      case Op::either:
        return logic(node);
      case Op::invert: {
        Value a = value(*node.args[0]);
        a.exact = a.exact != 0 ? 0 : 1;
        return a;
      }
      case Op::is_null: {
        const Value a = value(*node.args[0]);
        return {.failed = a.failed, .exact = a.null ? 1 : 0};
      }
      default:
        return choose(node);
    }
  }

  /// Whether WHERE keeps the row: conditions are evaluated one after the other, each on the rows that the previous ones
  /// have kept.
  bool keeps(const Node& node) {
    if (node.op == Op::both) return keeps(*node.args[0]) && keeps(*node.args[1]);
    return is_true(value(node));
  }

 private:
  static bool is_true(const Value& a) { return !a.failed && !a.null && a.exact != 0; }

  Value failure(Code code) {
    failures_.emplace(code, row_);
    return {.failed = true};
  }
  Value arithmetic(const Node& node) {
    const Value a = value(*node.args[0]);
    const Value b = value(*node.args[1]);
    return fitting(node, a, b, node.symbol);
  }
  Value fitting(const Node& node, const Value& a, const Value& b, std::string_view symbol) {
    if (a.failed || b.failed) return {.failed = true};
    if (a.null || b.null) return {.null = true};
    Int128 result = 0;
    bool fits = true;
    if (symbol == "+") fits = !__builtin_add_overflow(a.exact, b.exact, &result);
    if (symbol == "-") fits = !__builtin_sub_overflow(a.exact, b.exact, &result);
    if (symbol == "*") fits = !__builtin_mul_overflow(a.exact, b.exact, &result);
    if (symbol == "/") {
      if (b.exact == 0) return failure(Code::division_by_zero);
      if (b.exact == -1) {
        fits = !__builtin_sub_overflow(Int128{0}, a.exact, &result);
      } else {
        result = a.exact / b.exact;
      }
    }
    const bool in_64_bits =
        result >= std::numeric_limits<std::int64_t>::min() && result <= std::numeric_limits<std::int64_t>::max();
    if (!fits || !(node.wide || in_64_bits)) return failure(Code::overflow);
    return {.exact = result};
  }
  Value compare(const Node& node) {
    const Value a = value(*node.args[0]);
    const Value b = value(*node.args[1]);
    if (a.failed || b.failed) return {.failed = true};
    const std::string& s = node.symbol;
    const bool holds = a.exact == b.exact  ? s == "=" || s == "<=" || s == ">="
                       : a.exact < b.exact ? s == "<" || s == "<=" || s == "<>"
                                           : s == ">" || s == ">=" || s == "<>";
    return {.null = a.null || b.null, .exact = holds ? 1 : 0};
  }
  /// The right operand is not evaluated if the left one decides the result.
  Value logic(const Node& node) {
    const bool decisive = node.op == Op::either;
    const Value a = value(*node.args[0]);
    if (a.failed || (!a.null && (a.exact != 0) == decisive)) return a;
    const Value b = value(*node.args[1]);
    if (b.failed || (!b.null && (b.exact != 0) == decisive)) return b;
    return {.null = a.null || b.null, .exact = decisive ? 0 : 1};
  }
  Value choose(const Node& node) {
    for (std::size_t i = 0; i + 1 < node.args.size(); i += 2) {
      const Value test = value(*node.args[i]);
      if (test.failed) return test;
      if (is_true(test)) return value(*node.args[i + 1]);
    }
    return value(*node.args.back());
  }

  const Rows& rows_;
  std::int64_t row_;
  Failures& failures_;
};

// ------------------------------------------------------------------------------------------------------ how it is made

class Generator {
 public:
  explicit Generator(Bytes& bytes) : bytes_(bytes), schema_(schema()) {}

  NodePtr any(ValueKind kind, int depth) {
    if (depth <= 0 || left_-- <= 0) return atom(kind);
    switch (kind) {
      case ValueKind::boolean:
        return condition(depth - 1);
      case ValueKind::integer:
      case ValueKind::decimal:
      case ValueKind::real:
        return number(kind, depth - 1);
      default:
        return atom(kind);
    }
  }
  NodePtr column(ValueKind kind) {
    std::vector<int> fitting;
    for (std::size_t c = 0; c < schema_.size(); ++c) {
      if (schema_[c].field.kind == kind) fitting.push_back(static_cast<int>(c));
    }
    const int which = fitting[static_cast<std::size_t>(bytes_.below(static_cast<int>(fitting.size())))];
    const Field& field = schema_[static_cast<std::size_t>(which)].field;
    return made({.op = Op::column,
                 .kind = kind,
                 .sql = field.name,
                 .column = which,
                 .wide = field.storage == Storage::uint64,
                 .known = kind != ValueKind::decimal && kind != ValueKind::real,
                 .has_column = true});
  }
  NodePtr operator_of(Op op, ValueKind kind, std::string sql, std::vector<NodePtr> args, std::string symbol = "") {
    Node node{.op = op, .kind = kind, .sql = std::move(sql), .symbol = std::move(symbol), .args = std::move(args)};
    for (const NodePtr& arg : node.args) {
      node.wide = node.wide || (arg->wide && kind == ValueKind::integer);
      node.known = node.known && arg->known;
      node.has_column = node.has_column || arg->has_column;
      node.overflows = node.overflows || arg->overflows;
    }
    node.known = node.known && kind != ValueKind::decimal && kind != ValueKind::real;
    return made(std::move(node));
  }

 private:
  static constexpr int kMostOperators = 40;

  static NodePtr made(Node node) { return std::make_shared<const Node>(std::move(node)); }
  static std::string in_brackets(const std::string& a, const std::string& op, const std::string& b) {
    return "(" + a + " " + op + " " + b + ")";
  }

  NodePtr atom(ValueKind kind) {
    const int which = bytes_.below(8);
    if (which == 7) return made({.kind = kind, .sql = "NULL", .null = true});
    if (which < 5 || kind == ValueKind::text) return column(kind);
    if (kind == ValueKind::date) return leap_day();
    if (kind == ValueKind::boolean)
      return made({.kind = kind, .sql = which == 5 ? "TRUE" : "FALSE", .exact = which == 5});
    return kind == ValueKind::integer ? integer() : fraction(kind);
  }
  static NodePtr leap_day() { return made({.kind = ValueKind::date, .sql = "date '2024-02-29'", .exact = 19782}); }
  NodePtr integer() {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kFew[] = {
        0,     1,       -1,        2,         -2,   3,     10,        100,
        -1000, 1 << 16, INT32_MAX, INT32_MIN, kMax, -kMax, -kMax - 1, std::int64_t{1} << 40};
    const std::int64_t value = kFew[bytes_.below(16)];
    const std::string digits = std::to_string(value);
    return literal(value, digits);
  }
  static NodePtr literal(Int128 value, const std::string& digits) {
    return made({.sql = value < 0 ? "(" + digits + ")" : digits, .exact = value});
  }
  NodePtr fraction(ValueKind kind) {
    static const std::string kFew[] = {
        "0.0", "1.0", "0.5", "(-2.25)", "100.00", "0.0000000001", "99999999999999999999.9", "3.1"};
    return made({.kind = kind, .sql = kFew[bytes_.below(8)], .known = false});
  }

  NodePtr number(ValueKind kind, int depth) {
    const int which = bytes_.below(8);
    if (which == 0) return atom(kind);
    if (which == 1) return choice(kind, depth);
    if (which == 2) return negated(any(kind, depth));
    if (which == 3 && kind == ValueKind::integer) return days();
    static const std::string kSymbols[] = {"+", "-", "*", "/"};
    const std::string& symbol = kSymbols[which % 4];
    NodePtr a = any(kind, depth);
    // The quotient of two decimals is a float, and products have more digits: so one operand is an integer.
    const bool other = kind == ValueKind::decimal && (symbol == "*" || bytes_.below(3) == 0);
    if (kind == ValueKind::decimal && symbol == "/") return a;
    const NodePtr b = any(other ? ValueKind::integer : kind, depth);
    if (const NodePtr folded = folded_literal(a, b, symbol)) return folded;
    return operator_of(Op::arithmetic, kind, in_brackets(a->sql, symbol, b->sql), {a, b}, symbol);
  }
  /// An operation on two integer literals is computed when the query is bound.
  NodePtr folded_literal(const NodePtr& a, const NodePtr& b, const std::string& symbol) {
    const auto is_number = [](const NodePtr& n) {
      return n->op == Op::literal && n->kind == ValueKind::integer && !n->null;
    };
    if (!is_number(a) || !is_number(b) || symbol == "/") return nullptr;
    const Int128 value = symbol == "+"   ? a->exact + b->exact
                         : symbol == "-" ? a->exact - b->exact
                                         : a->exact * b->exact;
    const bool fits =
        value <= std::numeric_limits<std::int64_t>::max() && value >= std::numeric_limits<std::int64_t>::min();
    return made({.sql = in_brackets(a->sql, symbol, b->sql),
                 .symbol = symbol,
                 .exact = fits ? value : 0,
                 .overflows = !fits || a->overflows || b->overflows});
  }
  NodePtr negated(const NodePtr& a) {
    if (a->null) return a;
    // A minus belongs to the number after it: the number in the minimum integer is a decimal.
    if (a->op == Op::literal && a->symbol.empty()) return a;
    const std::string sql = "(- " + a->sql + ")";
    if (a->op != Op::literal) return operator_of(Op::negate, a->kind, sql, {a});
    Node folded = *folded_literal(made({.sql = "0"}), a, "-");
    folded.sql = sql;
    return made(std::move(folded));
  }
  NodePtr days() {
    const NodePtr a = column(ValueKind::date);
    const NodePtr b = column(ValueKind::date);
    return operator_of(Op::arithmetic, ValueKind::integer, in_brackets(a->sql, "-", b->sql), {a, b}, "-");
  }
  NodePtr choice(ValueKind kind, int depth) {
    std::vector<NodePtr> args;
    std::string sql = "CASE";
    const int branches = 1 + bytes_.below(2);
    for (int i = 0; i < branches; ++i) {
      args.push_back(any(ValueKind::boolean, depth));
      args.push_back(any(kind, depth));
      sql += " WHEN " + args[args.size() - 2]->sql + " THEN " + args.back()->sql;
    }
    if (bytes_.below(3) == 0) {
      args.push_back(made({.kind = kind, .sql = "NULL", .null = true}));
    } else {
      args.push_back(any(kind, depth));
      sql += " ELSE " + args.back()->sql;
    }
    const NodePtr whole = operator_of(Op::choose, kind, "(" + sql + " END)", args);
    Node node = *whole;
    node.wide = false;  // conditions do not widen the values that they select
    for (std::size_t i = 1; i < args.size(); i += 2) node.wide = node.wide || args[i]->wide;
    node.wide = (node.wide || args.back()->wide) && kind == ValueKind::integer;
    return made(std::move(node));
  }

  NodePtr condition(int depth) {
    switch (bytes_.below(11)) {
      case 0:
        return atom(ValueKind::boolean);
      case 1:
        return joined(Op::both, any(ValueKind::boolean, depth), any(ValueKind::boolean, depth));
      case 2:
        return joined(Op::either, any(ValueKind::boolean, depth), any(ValueKind::boolean, depth));
      case 3:
        return inverted(any(ValueKind::boolean, depth));
      case 4:
        return null_test(depth);
      case 5:
        return between(depth);
      case 6:
        return one_of(depth);
      case 7:
        return choice(ValueKind::boolean, depth);
      case 8:
        return word_test();
      default:
        return comparison(depth);
    }
  }
  NodePtr joined(Op op, const NodePtr& a, const NodePtr& b) {
    return operator_of(op, ValueKind::boolean, in_brackets(a->sql, op == Op::both ? "AND" : "OR", b->sql), {a, b});
  }
  NodePtr inverted(const NodePtr& a) {
    return operator_of(Op::invert, ValueKind::boolean, "(NOT " + a->sql + ")", {a});
  }
  NodePtr null_test(int depth) {
    const NodePtr a = any(comparable(), depth);
    NodePtr test = operator_of(Op::is_null, ValueKind::boolean, "(" + a->sql + " IS NULL)", {a});
    if (bytes_.below(2) == 0) return test;
    Node node = *inverted(test);
    node.sql = "(" + a->sql + " IS NOT NULL)";
    return made(std::move(node));
  }
  ValueKind comparable() {
    constexpr ValueKind kKinds[] = {ValueKind::integer, ValueKind::integer, ValueKind::integer, ValueKind::boolean,
                                    ValueKind::date,    ValueKind::decimal, ValueKind::real};
    return kKinds[bytes_.below(7)];
  }
  NodePtr comparison(int depth) {
    static const std::string kSymbols[] = {"=", "<>", "<", "<=", ">", ">="};
    const std::string& symbol = kSymbols[bytes_.below(6)];
    const ValueKind kind = comparable();
    const NodePtr a = any(kind, depth);
    const NodePtr b = any(kind, depth);
    return compared(a, symbol, b, in_brackets(a->sql, symbol, b->sql));
  }
  /// Strings compare as their indices do: words() is sorted.
  NodePtr word_test() {
    static const std::string kLiterals[] = {"''", "'a'", "'b'", "'it''s'", "'äpfel'"};
    static const std::string kSymbols[] = {"=", "<>", "<", "<=", ">", ">="};
    const std::string& symbol = kSymbols[bytes_.below(6)];
    const int which = bytes_.below(5);
    const NodePtr a = column(ValueKind::text);
    const NodePtr b = made({.kind = ValueKind::text, .sql = kLiterals[which], .exact = which});
    return compared(a, symbol, b, in_brackets(a->sql, symbol, b->sql));
  }
  NodePtr compared(const NodePtr& a, const std::string& symbol, const NodePtr& b, std::string sql = "") {
    return operator_of(Op::compare, ValueKind::boolean, std::move(sql), {a, b}, symbol);
  }
  NodePtr between(int depth) {
    const ValueKind kind = comparable();
    const NodePtr value = any(kind, depth);
    const NodePtr least = any(kind, depth);
    const NodePtr greatest = any(kind, depth);
    Node both = *joined(Op::both, compared(value, ">=", least), compared(value, "<=", greatest));
    const std::string bounds = " BETWEEN " + least->sql + " AND " + greatest->sql + ")";
    both.sql = "(" + value->sql + bounds;
    if (bytes_.below(3) != 0) return made(std::move(both));
    Node outside = *inverted(made(both));
    outside.sql = "(" + value->sql + " NOT" + bounds;
    return made(std::move(outside));
  }
  NodePtr one_of(int depth) {
    const NodePtr value = any(ValueKind::integer, depth);
    const int count = 1 + bytes_.below(3);
    NodePtr all;
    std::string list;
    for (int i = 0; i < count; ++i) {
      const NodePtr item = any(ValueKind::integer, depth - 1);
      const NodePtr test = compared(value, "=", item);
      all = all ? joined(Op::either, all, test) : test;
      list += (i > 0 ? ", " : "") + item->sql;
    }
    Node node = *all;
    node.sql = "(" + value->sql + " IN (" + list + "))";
    return made(std::move(node));
  }

  Bytes& bytes_;
  std::vector<Column> schema_;
  int left_ = kMostOperators;
};

}  // namespace upsweep::fuzz
