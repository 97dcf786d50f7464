// SPDX-License-Identifier: Apache-2.0
// sql/expression/builder.cpp: typing rules, constant folding and interning of expressions.
#include "sql/expression/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "sql/expression/clock.hpp"
#include "sql/expression/date.hpp"
#include "sql/expression/members.hpp"
#include "sql/expression/rules.hpp"
#include "sql/tuning.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::expression {
namespace {

constexpr ValueType kBoolean{ValueKind::boolean};
constexpr ValueType kReal{ValueKind::real};
constexpr ValueType kInteger{ValueKind::integer};
constexpr ValueType kDate{ValueKind::date};

// Maximum number of IN constants that are compared one by one. A longer list uses a lookup.
constexpr std::size_t kMostCompared = query::tuning::kMembers.most_compared;

bool is_literal(const Node& a) { return a->op == Op::literal; }
bool is_string(const Node& a) { return a->op == Op::literal && a->type.kind == ValueKind::text; }

/// Returns whether a string literal that is compared with the type is parsed as that type.
bool is_calendar(ValueType type) {
  return type.kind == ValueKind::date || type.kind == ValueKind::interval || is_temporal(type);
}

bool is_number(const std::string& string) {
  double value = 0;
  const auto [end, error] = std::from_chars(string.data(), string.data() + string.size(), value);
  return error == std::errc() && end == string.data() + string.size();
}

/// Describes why an operator is not defined between these operands, with a hint if one is known.
std::string undefined_between(std::string_view what, const Node& a, const Node& b) {
  std::string message = fmt::format("{} is not defined between {} and {}", what, name(a->type), name(b->type));
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (one->type.kind != ValueKind::text || !is_numeric(other->type)) continue;
    if (!is_string(one)) return message.append(why_text(one->type));
    if (is_number(one->strings[0])) return message + ": write the number without quotes";
  }
  if (a->type.kind == ValueKind::timestamp && b->type.kind == ValueKind::timestamp) {
    return message + ": the times of one of them are in UTC, those of the other in an unknown zone";
  }
  return message;
}

std::string identity(const Expression& e) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &e.real, sizeof bits);
  std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(e.op), static_cast<int>(e.type.kind), e.type.scale,
                  e.type.in_utc, e.column, e.function, to_text(e.exact), bits, static_cast<int>(e.string_test));
  for (const Node& arg : e.args) key += fmt::format(" #{}", arg->id);
  for (const std::string& string : e.strings) key += fmt::format(" {}:{}", string.size(), string);
  if (e.op == Op::is_member) {
    for (const Int128 value : e.members->exact()) key += ' ' + to_text(value);
    for (const double value : e.members->reals()) key += fmt::format(" {:a}", value);
  }
  return key;
}

double compute(Op op, double a, double b) {
  if (op == Op::add) return a + b;
  if (op == Op::subtract) return a - b;
  if (op == Op::multiply) return a * b;
  detail::no_such_value();
}

void add_columns(const Node& node, std::set<int>& columns, std::set<int>& seen) {
  if (!seen.insert(node->id).second) return;
  if (node->op == Op::column) columns.insert(node->column);
  for (const Node& arg : node->args) add_columns(arg, columns, seen);
}

}  // namespace

bool passes(const Expression& node, std::string_view string) {
  const std::string_view first = node.strings[0];
  switch (node.string_test) {
    case StringTest::less:
      return string < first;
    case StringTest::less_equal:
      return string <= first;
    case StringTest::greater:
      return string > first;
    case StringTest::greater_equal:
      return string >= first;
    case StringTest::is_one_of:
      return node.members ? node.members->has(string)
                          : std::find(node.strings.begin(), node.strings.end(), string) != node.strings.end();
  }
  detail::no_such_value();
}

std::set<int> columns_of(const std::vector<Node>& nodes) {
  std::set<int> columns;
  std::set<int> seen;
  for (const Node& node : nodes) add_columns(node, columns, seen);
  return columns;
}

std::string_view why_text(ValueType type) {
  return type.kind == ValueKind::text ? "; a CSV column is text if one of its cells is not a number" : "";
}

std::string name(ValueType type) {
  if (type.kind == ValueKind::decimal) return fmt::format("decimal with {} decimal places", type.scale);
  return fmt::format("{}{}", upsweep::name(type.kind), type.in_utc ? " with time zone" : "");
}

// --------------------------------------------------------------------------------------------------------------- atoms

Node Builder::make(Expression expression) {
  const std::string key = identity(expression);
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  expression.id = static_cast<int>(made_.size());
  derive(expression);
  return made_.emplace(key, std::make_shared<const Expression>(std::move(expression))).first->second;
}

Node Builder::column(int index, ValueType type, bool wide, int location) {
  return make({.op = Op::column, .type = type, .column = index, .location = location, .wide = wide});
}
Node Builder::exact(Int128 value, ValueType type, int location) {
  return make({.op = Op::literal, .type = type, .exact = value, .location = location});
}
Node Builder::real(double value, int location) {
  return make({.op = Op::literal, .type = kReal, .real = value, .location = location});
}
Node Builder::text(const std::string& string, int location) {
  return make({.op = Op::literal, .type = {ValueKind::text}, .strings = {string}, .location = location});
}
Node Builder::null(int location) { return make({.op = Op::null, .location = location}); }
Node Builder::seconds(Int128 count, ValueType type, int location) {
  const Limits limits = limits_of(type, false);
  if (count >= limits.minimum && count <= limits.maximum) return exact(count, type, location);
  expression::refuse(sql_, location, Code::overflow,
                     fmt::format("this {} does not fit 64 bits with {} digits after the second",
                                 upsweep::name(type.kind), type.scale));
}

// --------------------------------------------------------------------------------------------------------- conversions

Node Builder::convert(const Node& a, ValueType type) {
  if (a->type == type) return a;
  if (is_null_literal(a)) return make({.op = Op::null, .type = type, .location = a->location});
  if (type.kind == ValueKind::real) {
    if (is_literal(a)) return real(to_double(a->exact, scale_of(a->type)), a->location);
    return make({.op = Op::to_real, .type = type, .args = {a}, .location = a->location});
  }
  const bool is_of_date = a->type.kind == ValueKind::date;
  const Int128 factor = power_of_ten(scale_of(type) - scale_of(a->type)) * (is_of_date ? kDaySeconds : 1);
  if (is_temporal(type) && is_literal(a)) return seconds(a->exact * factor, type, a->location);
  if (!is_literal(a)) {
    const Node by = exact(factor, {ValueKind::decimal}, a->location);
    return make({.op = Op::rescale, .type = type, .args = {a, by}, .location = a->location});
  }
  Int128 value = 0;
  if (__builtin_mul_overflow(a->exact, factor, &value)) {
    expression::refuse(sql_, a->location, Code::overflow,
                       fmt::format("this number has more than {} digits", kMostDigits));
  }
  return exact(value, type, a->location);
}

ValueType Builder::common_type(const Node& a, const Node& b, int location, const char* what) const {
  if (is_null_literal(a)) return b->type;
  if (is_null_literal(b)) return a->type;
  if (is_numeric(a->type) && is_numeric(b->type)) {
    if (a->type.kind == ValueKind::real || b->type.kind == ValueKind::real) return kReal;
    if (a->type.kind == ValueKind::integer && b->type.kind == ValueKind::integer) return a->type;
    return {ValueKind::decimal, std::max(scale_of(a->type), scale_of(b->type))};
  }
  if (a->type == b->type) return a->type;
  const auto is_of_days = [](const Node& node) {
    return node->type.kind == ValueKind::date || node->type.kind == ValueKind::timestamp;
  };
  if (is_of_days(a) && is_of_days(b) && (a->type.kind != b->type.kind || a->type.in_utc == b->type.in_utc)) {
    return {ValueKind::timestamp, std::max(scale_of(a->type), scale_of(b->type)), a->type.in_utc || b->type.in_utc};
  }
  if (a->type.kind == b->type.kind && is_temporal(a->type) && a->type.in_utc == b->type.in_utc) {
    return {a->type.kind, std::max(a->type.scale, b->type.scale)};
  }
  refuse(location, undefined_between(what, a, b));
}

/// Returns a timestamp literal without a zone as a time in UTC, if the other operand is an instant.
Node Builder::in_utc(const Node& a, const Node& other) {
  if (!is_literal(a) || a->type.kind != ValueKind::timestamp || !other->type.in_utc) return a;
  return exact(a->exact, {ValueKind::timestamp, a->type.scale, true}, a->location);
}

Node Builder::condition(const Node& a, const char* where) {
  if (is_null_literal(a)) return convert(a, kBoolean);
  if (a->type.kind != ValueKind::boolean)
    refuse(a->location, fmt::format("{} requires a condition, but this is {}", where, name(a->type)));
  return a;
}

// ---------------------------------------------------------------------------------------------------------- arithmetic

Node Builder::negate(const Node& a, int location) {
  if (is_null_literal(a)) return a;
  if (!is_numeric(a->type) && a->type.kind != ValueKind::duration)
    refuse(location, fmt::format("- is not defined for {}{}", name(a->type), why_text(a->type)));
  // 0 - a would return a float zero of the wrong sign.
  if (a->type.kind == ValueKind::real) return computed(Op::multiply, real(-1, location), a, a->type, location);
  return computed(Op::subtract, exact(0, a->type, location), a, a->type, location);
}

Node Builder::arithmetic(Op op, const Node& a, const Node& b, int location) {
  const Node result = typed_arithmetic(op, a, b, location);
  // The result is an untyped NULL like its operand, so it adopts any required type. Not if the other operand may fail.
  const bool is_null = (is_null_literal(a) && !b->can_fail) || (is_null_literal(b) && !a->can_fail);
  return is_null ? convert(null(location), result->type) : result;
}

Node Builder::typed_arithmetic(Op op, const Node& a, const Node& b, int location) {
  constexpr const char* kSymbols[] = {"+", "-", "*", "/"};
  const char* const symbol = kSymbols[static_cast<int>(op) - static_cast<int>(Op::add)];
  // date - date is a number of days; date ± integer is a date, as in PostgreSQL.
  const auto are = [&](ValueKind left, ValueKind right) { return a->type.kind == left && b->type.kind == right; };
  if (op == Op::subtract && is_null_literal(a) && b->type.kind == ValueKind::date) {
    return computed(op, convert(a, b->type), b, {ValueKind::integer}, location);
  }
  const bool from_date = are(ValueKind::date, ValueKind::integer) && (op == Op::add || op == Op::subtract);
  const bool to_date = are(ValueKind::integer, ValueKind::date) && op == Op::add;
  if (from_date || to_date) return computed(op, a, b, {ValueKind::date}, location);
  if (const auto result = calendar_arithmetic(op, a, b, location)) return *result;
  if (are(ValueKind::date, ValueKind::date) && op == Op::subtract) {
    return computed(op, a, b, {ValueKind::integer}, location);
  }
  const ValueType common = common_type(a, b, location, symbol);
  if (!is_numeric(common))
    refuse(location, fmt::format("{} is not defined for {}{}", symbol, name(common), why_text(common)));
  if (op == Op::divide && common.kind == ValueKind::decimal) {
    const Node top = is_null_literal(a) ? convert(a, common) : a;
    const Node bottom = is_null_literal(b) ? convert(b, common) : b;
    return make({.op = Op::ratio, .type = kReal, .args = {top, bottom}, .location = location});
  }
  if (op == Op::multiply && common.kind == ValueKind::decimal && !is_null_literal(a) && !is_null_literal(b)) {
    const int scale = scale_of(a->type) + scale_of(b->type);
    if (scale > kMostDigits) {
      refuse(location, fmt::format("the product has {} decimal places, more than {}", scale, kMostDigits));
    }
    return computed(op, a, b, {ValueKind::decimal, scale}, location);
  }
  return computed(op, convert(a, common), convert(b, common), common, location);
}

/// Computes with timestamps and durations, or returns nothing if neither operand is one. A date is its midnight, except
/// in the sum of a date and whole days, which is a date.
std::optional<Node> Builder::calendar_arithmetic(Op op, const Node& a, const Node& b, int location) {
  const bool is_sum = op == Op::add || op == Op::subtract;
  const auto is = [](const Node& node, ValueKind kind) { return node->type.kind == kind; };
  const auto is_moment = [&](const Node& node) { return is(node, ValueKind::timestamp) || is(node, ValueKind::date); };
  const auto is_duration = [&](const Node& node) { return is(node, ValueKind::duration); };
  if (is_null_literal(a) || is_null_literal(b)) {
    const Node& other = is_null_literal(a) ? b : a;
    if (!is_temporal(other->type) || !is_sum) return std::nullopt;
    // NULL has any type. The result is NULL of some type that is defined for the operator.
    const bool is_difference = op == Op::subtract && !is_duration(other) && is_null_literal(a);
    const ValueType type = is_difference ? ValueType{ValueKind::duration, other->type.scale} : other->type;
    return computed(op, convert(a, other->type), convert(b, other->type), type, location);
  }
  if (is_duration(a) && is_duration(b) && op == Op::divide) {
    return make({.op = Op::ratio, .type = kReal, .args = {a, b}, .location = location});
  }
  const bool is_product = op == Op::multiply && ((is_duration(a) && is(b, ValueKind::integer)) ||
                                                 (is(a, ValueKind::integer) && is_duration(b)));
  const bool is_quotient = op == Op::divide && is_duration(a) && is(b, ValueKind::integer);
  if (is_product || is_quotient) return computed(op, a, b, is_duration(a) ? a->type : b->type, location);
  const int scale = std::max(scale_of(a->type), scale_of(b->type));
  const ValueType duration{ValueKind::duration, scale};
  if (is_sum && is_duration(a) && is_duration(b)) {
    return computed(op, convert(a, duration), convert(b, duration), duration, location);
  }
  const bool moves = is_sum && is_moment(a) && is_duration(b);
  if (moves || (op == Op::add && is_duration(a) && is_moment(b))) {
    const Node& from = moves ? a : b;
    const Node& by = moves ? b : a;
    const Int128 day = kDaySeconds * power_of_ten(by->type.scale);
    if (is(from, ValueKind::date) && is_literal(by) && by->exact % day == 0) {
      return computed(op, from, exact(by->exact / day, kInteger, by->location), kDate, location);
    }
    const ValueType type{ValueKind::timestamp, scale, from->type.in_utc};
    return computed(op, convert(from, type), convert(by, duration), type, location);
  }
  const bool is_difference = op == Op::subtract && is_moment(a) && is_moment(b);
  if (is_difference && (is(a, ValueKind::timestamp) || is(b, ValueKind::timestamp))) {
    const Node first = in_utc(a, b);
    const Node second = in_utc(b, a);
    const ValueType type = common_type(first, second, location, "-");
    return computed(op, convert(first, type), convert(second, type), duration, location);
  }
  if (op == Op::subtract && is(a, ValueKind::time) && is(b, ValueKind::time)) {
    const ValueType type{ValueKind::time, scale};
    return computed(op, convert(a, type), convert(b, type), duration, location);
  }
  return std::nullopt;
}

Node Builder::computed(Op op, const Node& a, const Node& b, ValueType type, int location) {
  if (is_literal(a) && is_literal(b) && op != Op::divide) {
    if (type.kind == ValueKind::real) return real(compute(op, a->real, b->real), location);
    Int128 value = 0;
    const bool fits = compute_exact(op, a->exact, b->exact, value);
    const bool is_day = type.kind == ValueKind::date;  // of a year that can be written as text
    const Limits limits = is_day ? Limits{kFirstDay, kLastDay, ""} : limits_of(type, false);
    if (fits && value >= limits.minimum && value <= limits.maximum) return exact(value, type, location);
    expression::refuse(sql_, location, Code::overflow, fmt::format("the result does not fit {}", name(type)));
  }
  return make({.op = op, .type = type, .args = {a, b}, .location = location});
}

// ---------------------------------------------------------------------------------------------------------- conditions

/// Returns a string literal as a literal of the type of the operand that it is compared with: a date or seconds.
Expression Builder::parsed(const Expression& string, ValueType type) const {
  const std::string& text = string.strings[0];
  const auto literal = [&](Seconds seconds, bool is_utc) {
    return Expression{.op = Op::literal,
                      .type = {type.kind, seconds.scale, is_utc},
                      .exact = seconds.count,
                      .location = string.location};
  };
  const auto refuse_text = [&](const char* example) {
    expression::refuse(sql_, string.location, Code::bad_sql,
                       fmt::format("'{}' is not a valid {}; write it as {}", text, upsweep::name(type.kind), example));
  };
  if (type.kind == ValueKind::timestamp) {
    const auto timestamp = parse_timestamp(text);
    if (!timestamp) refuse_text("2024-12-31 23:59:59.5");
    return literal(timestamp->since, timestamp->has_offset || type.in_utc);
  }
  if (type.kind == ValueKind::time) {
    const auto time = parse_time(text);
    if (!time) refuse_text("23:59:59.5");
    return literal(*time, false);
  }
  if (type.kind == ValueKind::duration) {
    const auto span = parse_span(text);
    if (!span || span->months != 0) refuse_text("3 days 04:05:06.5, without months");
    return literal(span->time, false);
  }
  if (type.kind == ValueKind::interval) {
    const auto span = parse_span(text);
    const auto element = span ? interval_element(*span) : std::nullopt;
    if (!element) refuse_text("1 month 3 days 04:05:06.5");
    return {.op = Op::literal, .type = {ValueKind::interval}, .exact = *element, .location = string.location};
  }
  return {
      .op = Op::literal, .type = kDate, .exact = parse_date(sql_, text, string.location), .location = string.location};
}

/// Decimals and seconds are compared as they are, whatever their scales. A literal is converted to the scale of the
/// other operand.
Node Builder::comparable(const Node& a, ValueType common) {
  if (a->type.kind == ValueKind::date && common.kind == ValueKind::timestamp) {
    return comparable(convert(a, {ValueKind::timestamp, 0, common.in_utc}), common);
  }
  const bool is_comparable = (is_exact(a->type) && is_exact(common)) || a->type.kind == common.kind;
  if (!is_comparable || common.kind == ValueKind::real || is_null_literal(a)) return convert(a, common);
  const int shift = scale_of(common) - scale_of(a->type);
  const UInt128 most = is_temporal(common) ? kNarrowBound : kWideBound;
  const bool fits = magnitude(a->exact) <= most / static_cast<UInt128>(power_of_ten(shift));
  return is_literal(a) && fits ? convert(a, common) : a;
}

Node Builder::compare(const std::string& symbol, const Node& a, const Node& b, int location) {
  if (is_calendar(a->type) && is_string(b)) return compare(symbol, a, make(parsed(*b, a->type)), location);
  if (is_calendar(b->type) && is_string(a)) return compare(symbol, make(parsed(*a, b->type)), b, location);
  if (a->type.kind == ValueKind::text || b->type.kind == ValueKind::text) return compare_words(symbol, a, b, location);
  if (a->type.kind == ValueKind::interval || b->type.kind == ValueKind::interval) {
    return compare_intervals(symbol, a, b, location);
  }
  const ValueType common = common_type(in_utc(a, b), in_utc(b, a), location, symbol.c_str());
  const Node left = comparable(in_utc(a, b), common);
  const Node right = comparable(in_utc(b, a), common);
  const auto of = [&](Op op, const Node& x, const Node& y) {
    return make({.op = op, .type = kBoolean, .args = {x, y}, .location = location});
  };
  if (symbol == "=") return of(Op::equal, left, right);
  if (symbol == "<>") return of(Op::unequal, left, right);
  if (symbol == "<") return of(Op::less, left, right);
  if (symbol == "<=") return of(Op::less_equal, left, right);
  if (symbol == ">") return of(Op::less, right, left);
  return of(Op::less_equal, right, left);
}

Node Builder::strings_in(const Node& column, StringTest test, std::vector<std::string> strings, int location) {
  auto members = strings.size() > kMostCompared ? std::make_shared<const Members>(strings) : nullptr;
  return make({.op = Op::string_test,
               .type = kBoolean,
               .args = {column},
               .string_test = test,
               .strings = std::move(strings),
               .members = std::move(members),
               .location = location});
}

Node Builder::compare_words(const std::string& symbol, const Node& a, const Node& b, int location) {
  if (is_null_literal(a) || is_null_literal(b)) return convert(null(location), kBoolean);
  const bool turned = is_string(a);
  const Node& column = turned ? b : a;
  const Node& string = turned ? a : b;
  if (!is_string(string) || column->type.kind != ValueKind::text) {
    refuse(location, undefined_between(symbol, a, b));
  }
  if (is_string(column)) refuse(location, "comparing two string literals is not supported");
  if (symbol == "=") return strings_in(column, StringTest::is_one_of, string->strings, location);
  if (symbol == "<>") return invert(strings_in(column, StringTest::is_one_of, string->strings, location), location);
  const bool less = (symbol[0] == '<') != turned;
  const bool or_equal = symbol.size() == 2;
  const StringTest test = less ? (or_equal ? StringTest::less_equal : StringTest::less)
                               : (or_equal ? StringTest::greater_equal : StringTest::greater);
  return strings_in(column, test, string->strings, location);
}

/// Compares lengths. The elements of one length are a range.
Node Builder::compare_intervals(const std::string& symbol, const Node& a, const Node& b, int location) {
  if (is_null_literal(a) || is_null_literal(b)) return convert(null(location), kBoolean);
  const bool turned = is_literal(a);
  const Node& column = turned ? b : a;
  const Node& limit = turned ? a : b;
  const bool is_duration = limit->type.kind == ValueKind::duration;
  if (column->type.kind != ValueKind::interval || (!is_duration && limit->type.kind != ValueKind::interval)) {
    const bool is_of_duration = column->type.kind == ValueKind::duration;
    refuse(location, undefined_between(symbol, a, b) + (is_of_duration ? ": a month has no fixed length" : ""));
  }
  if (!is_literal(limit)) {
    refuse(location,
           fmt::format("{} is not defined between two columns of intervals; compare each with a literal, such "
                       "as interval '1 month'",
                       symbol));
  }
  constexpr Int128 kLongest = Int128{1} << 76;  // more than the length of any interval
  const Int128 length = is_duration
                            ? std::clamp(limit->exact * power_of_ten(9 - limit->type.scale), -kLongest, kLongest)
                            : limit->exact >> kIntervalPartBits;
  const auto from = [&](Int128 longer) {
    return exact((length + longer) * (Int128{1} << kIntervalPartBits), {ValueKind::interval}, limit->location);
  };
  const auto of = [&](Op op, const Node& x, const Node& y) {
    return make({.op = op, .type = kBoolean, .args = {x, y}, .location = location});
  };
  const auto below = [&](Int128 longer) { return of(Op::less, column, from(longer)); };
  const auto at_least = [&](Int128 longer) { return of(Op::less_equal, from(longer), column); };
  if (symbol == "=") return of(Op::both, at_least(0), below(1));
  if (symbol == "<>") return of(Op::either, below(0), at_least(1));
  const bool is_less = (symbol[0] == '<') != turned;
  const bool or_equal = symbol.size() == 2;
  return is_less ? below(or_equal ? 1 : 0) : at_least(or_equal ? 0 : 1);
}

Node Builder::logic(Op op, std::span<const Node> conditions, int location) {
  const char* const where = op == Op::both ? "AND" : "OR";
  if (conditions.size() == 1) return condition(conditions[0], where);
  // Splits in halves, so that a long chain does not become a deep tree.
  const std::size_t half = conditions.size() / 2;
  return make({.op = op,
               .type = kBoolean,
               .args = {logic(op, conditions.first(half), location), logic(op, conditions.subspan(half), location)},
               .location = location});
}

Node Builder::invert(const Node& a, int location) {
  return make({.op = Op::invert, .type = kBoolean, .args = {condition(a, "NOT")}, .location = location});
}

Node Builder::real_key(const Node& a) {
  return make({.op = Op::real_key, .type = kInteger, .args = {a}, .location = a->location});
}

Node Builder::is_null(const Node& a, int location) {
  return make({.op = Op::is_null, .type = kBoolean, .args = {a}, .location = location});
}

/// Returns whether values of type `a` may be looked up among constants such as this one. Integers and decimals are
/// compared with floats as floats, not by their exact values.
bool Builder::is_looked_up(ValueType a, const Expression& item) {
  if (item.op != Op::literal) return false;
  const ValueKind kind = item.type.kind;
  if (a.kind == ValueKind::date) return kind == ValueKind::date;
  if (is_temporal(a)) return item.type.kind == a.kind && item.type.in_utc == a.in_utc;
  return is_exact(a) ? is_exact(item.type) : a.kind == ValueKind::real && is_numeric(item.type);
}

Node Builder::member_test(const Node& a, const std::vector<Expression>& items, int location) {
  std::vector<double> reals;
  std::vector<Int128> exact;
  for (const Expression& item : items) {
    if (a->type.kind == ValueKind::real) {
      const bool is_real = item.type.kind == ValueKind::real;
      reals.push_back(is_real ? item.real : to_double(item.exact, scale_of(item.type)));
    } else {
      // Converts to the scale of `a`. A value that does not fit, such as 1.5 among integers, equals no value of `a`.
      const int shift = scale_of(a->type) - scale_of(item.type);
      const Int128 factor = power_of_ten(std::abs(shift));
      Int128 value = 0;
      if (shift >= 0 ? !__builtin_mul_overflow(item.exact, factor, &value) : item.exact % factor == 0) {
        exact.push_back(shift >= 0 ? value : item.exact / factor);
      }
    }
  }
  auto members = a->type.kind == ValueKind::real ? std::make_shared<const Members>(std::move(reals))
                                                 : std::make_shared<const Members>(std::move(exact));
  return make(
      {.op = Op::is_member, .type = kBoolean, .args = {a}, .members = std::move(members), .location = location});
}

Node Builder::is_in(const Node& a, const std::vector<Expression>& constants, const std::vector<Node>& others,
                    int location) {
  std::vector<Expression> looked_up;
  std::vector<Expression> as_reals;  // floats; integers and decimals are looked up among them as floats
  std::vector<std::string> strings;
  std::vector<Node> tests;
  if (is_null_literal(a) && !constants.empty()) tests.push_back(convert(null(location), kBoolean));
  for (const Expression& constant : constants) {
    if (is_null_literal(a)) break;
    const bool is_text = constant.op == Op::literal && constant.type.kind == ValueKind::text;
    const Expression item = is_text && is_calendar(a->type) ? parsed(constant, a->type) : constant;
    if (is_text && a->type.kind == ValueKind::text && !is_string(a)) {
      strings.push_back(item.strings[0]);
    } else if (is_looked_up(a->type, item)) {
      looked_up.push_back(item);
    } else if (is_exact(a->type) && item.op == Op::literal && item.type.kind == ValueKind::real) {
      as_reals.push_back(item);
    } else {
      tests.push_back(compare("=", a, make(item), item.location));
    }
  }
  const auto look_up = [&](const std::vector<Expression>& items, ValueType as) {
    if (items.size() > kMostCompared) {
      tests.push_back(member_test(convert(a, as), items, location));
    } else {
      for (const Expression& item : items) tests.push_back(compare("=", a, make(item), item.location));
    }
  };
  look_up(looked_up, a->type);
  look_up(as_reals, kReal);
  if (!strings.empty()) tests.push_back(strings_in(a, StringTest::is_one_of, std::move(strings), location));
  for (const Node& item : others) tests.push_back(compare("=", a, item, item->location));
  return logic(Op::either, tests, location);
}

Node Builder::choose(std::vector<Node> args, int location) {
  ValueType type = args.back()->type;
  Node known = args.back();
  for (std::size_t i = 0; i + 1 < args.size(); i += 2) {
    args[i] = condition(args[i], "WHEN");
    if (is_null_literal(known)) known = args[i + 1];
    type = common_type(known, args[i + 1], args[i + 1]->location, "CASE");
    known = convert(known, type);
  }
  if (is_null_literal(known) && std::none_of(args.begin(), args.end(), [](const Node& arg) { return arg->can_fail; })) {
    return known;
  }
  if (type.kind == ValueKind::text) refuse(location, "a choice between texts (CASE, COALESCE, …) is not supported");
  for (std::size_t i = 1; i < args.size(); i += 2) args[i] = convert(args[i], type);
  args.back() = convert(args.back(), type);
  return make({.op = Op::choose, .type = type, .args = std::move(args), .location = location});
}

}  // namespace upsweep::expression
