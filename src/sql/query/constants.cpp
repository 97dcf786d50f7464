// SPDX-License-Identifier: Apache-2.0
// sql/query/constants.cpp: reads literals exactly. A number that a decimal cannot hold is refused unless it is a float.
#include "sql/query/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/decimal.hpp"
#include "sql/expression/caret.hpp"
#include "sql/expression/date.hpp"
#include "sql/query/lexer.hpp"

namespace upsweep::query {
namespace {

using expression::Expression;
using expression::kMostDigits;
using expression::Op;
using expression::refuse;
using expression::ValueType;

/// A number in a query, such as 1.5e-3, possibly with a sign.
struct Written {
  WrittenNumber digits;
  bool has_point = false;
  bool has_exponent = false;
  int exponent = 0;
  bool exponent_fits = true;
};

Written written(std::string_view text) {
  Written all;
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  all.has_exponent = mark < text.size();
  if (all.has_exponent) {
    const char* first = text.data() + mark + 1;
    if (*first == '+') ++first;
    all.exponent_fits = std::from_chars(first, text.data() + text.size(), all.exponent).ec == std::errc();
  }
  std::string_view digits = text.substr(0, mark);
  all.has_point = digits.find('.') != std::string_view::npos;
  if (digits.ends_with('.')) digits.remove_suffix(1);
  (void)split_number(digits, all.digits);
  return all;
}

std::string_view without_zeros_at_the_end(std::string_view decimals) {
  return decimals.substr(0, decimals.find_last_not_of('0') + 1);
}

/// Returns the number of digits, without leading zeros and without trailing zeros after the point.
std::size_t digits_of(const WrittenNumber& number) {
  const std::size_t first = std::min(number.whole.find_first_not_of('0'), number.whole.size());
  return number.whole.size() - first + without_zeros_at_the_end(number.decimals).size();
}

Expression real(const std::string& sql, const std::string& text, int location) {
  const bool negative = text.starts_with('-');
  const double value = parse_float64(std::string_view(text).substr(negative ? 1 : 0)).value_or(0);
  if (std::isinf(value)) refuse(sql, location, Code::overflow, "this number does not fit a float64");
  return {.op = Op::literal, .type = {ValueKind::real}, .real = negative ? -value : value, .location = location};
}

/// Reads "12.50", "1e6", ".5", "-9223372036854775808" as exact integers and decimals. A number that a decimal cannot
/// hold becomes a float64 if it has an exponent. Otherwise it is refused, because all written digits are significant.
Expression number(const std::string& sql, const std::string& text, int location) {
  Written number = written(text);
  // 1.5000 keeps its four places, but trailing zeros never make a number invalid.
  for (const bool keeps_zeros : {true, false}) {
    if (!number.exponent_fits) break;
    if (!keeps_zeros) number.digits.decimals = without_zeros_at_the_end(number.digits.decimals);
    const int places = std::max(static_cast<int>(number.digits.decimals.size()), number.exponent);
    const std::int64_t scale = std::int64_t{places} - number.exponent;
    Int128 value = 0;
    if (scale > kMostDigits || !scaled_by(number.digits, places, value)) continue;
    if (expression::magnitude(value) >= static_cast<expression::UInt128>(expression::power_of_ten(kMostDigits)))
      continue;
    const bool whole = !number.has_point && !number.has_exponent;
    const ValueType type = whole && value >= INT64_MIN && value <= INT64_MAX
                               ? ValueType{ValueKind::integer}
                               : ValueType{ValueKind::decimal, static_cast<int>(scale)};
    return {.op = Op::literal, .type = type, .exact = value, .location = location};
  }
  const std::size_t digits = digits_of(number.digits);
  if (number.has_exponent && digits <= kMostDigits) return real(sql, text, location);
  refuse(sql, location, Code::unsupported_sql,
         fmt::format("this number has {} digits; a number has at most {}", digits, kMostDigits));
}

/// The parser's JSON omits negative integers, like 0. They are therefore read from the query text.
std::int64_t integer(const std::string& sql, const Json& constant) {
  const Json& number = constant.at("ival");
  if (number.contains("ival")) return number.at("ival");
  const auto location = static_cast<std::size_t>(location_of(constant, 0));
  return location < sql.size() && sql[location] == '-' ? -first_number(std::string_view(sql).substr(location)) : 0;
}

}  // namespace

std::optional<std::int64_t> whole_number(const std::string& sql, const Json& node) {
  const auto [tag, body] = tagged(node);
  if (tag != "A_Const" || !body.contains("ival")) return std::nullopt;
  return integer(sql, body);
}

std::string cast_type(const Json& cast) {
  const Json& type = cast.at("typeName");
  return type.contains("names") ? string_of(type.at("names").back()) : "";
}

namespace {

/// Returns the string that a cast converts, or nothing if it converts something else.
std::optional<std::string> string_to_cast(const Json& cast) {
  const auto [tag, body] = tagged(cast.at("arg"));
  if (tag != "A_Const" || !body.contains("sval")) return std::nullopt;
  return body.at("sval").value("sval", "");
}

/// Returns the literal of date '…', timestamp '…', time '…' or interval '…'; nothing for other casts.
std::optional<Expression> cast_constant(const std::string& sql, const Json& cast, int location) {
  const std::string type = cast_type(cast);
  const auto text = string_to_cast(cast);
  const bool is_timestamp = type == "timestamp" || type == "timestamptz";
  const bool is_known = is_timestamp || type == "date" || type == "time" || type == "interval";
  if (!text || !is_known) return std::nullopt;
  // The digits of timestamp(3) '…' would change the value.
  if (type != "interval" && cast.at("typeName").contains("typmods")) return std::nullopt;
  const int at = location_of(tagged(cast.at("arg")).body, location);
  const auto literal = [&](ValueKind kind, expression::Seconds seconds, bool in_utc) {
    if (seconds.count != static_cast<std::int64_t>(seconds.count)) {
      refuse(sql, at, Code::overflow,
             fmt::format("this {} does not fit 64 bits with {} digits after the second", name(kind), seconds.scale));
    }
    return Expression{
        .op = Op::literal, .type = {kind, seconds.scale, in_utc}, .exact = seconds.count, .location = location};
  };
  const auto refuse_text = [&](const char* example) {
    refuse(sql, at, Code::bad_sql, fmt::format("'{}' is not a valid {}; write it as {}", *text, type, example));
  };
  if (is_timestamp) {
    const auto timestamp = expression::parse_timestamp(*text);
    if (!timestamp) refuse_text("2024-12-31 23:59:59.5");
    return literal(ValueKind::timestamp, timestamp->since, timestamp->has_offset || type == "timestamptz");
  }
  if (type == "time") {
    const auto time = expression::parse_time(*text);
    if (!time) refuse_text("23:59:59.5");
    return literal(ValueKind::time, *time, false);
  }
  if (type == "interval") {
    const auto span = span_of(sql, Json{{"TypeCast", cast}});
    if (span->months == 0) return literal(ValueKind::duration, span->time, false);
    const auto element = expression::interval_element(*span);
    if (!element) refuse(sql, at, Code::overflow, "this interval is too long");
    return Expression{.op = Op::literal, .type = {ValueKind::interval}, .exact = *element, .location = location};
  }
  return Expression{.op = Op::literal,
                    .type = {ValueKind::date},
                    .exact = expression::parse_date(sql, *text, at),
                    .location = location};
}

}  // namespace

std::optional<Expression> constant_of(const std::string& sql, const Json& node) {
  const auto [tag, body] = tagged(node);
  const int location = location_of(body, first_location(node));
  const auto exact = [&](Int128 value, ValueKind kind) {
    return Expression{.op = Op::literal, .type = {kind}, .exact = value, .location = location};
  };
  if (tag == "TypeCast") return cast_constant(sql, body, location);
  if (tag != "A_Const") return std::nullopt;
  if (body.contains("isnull")) return Expression{.op = Op::null, .location = location};
  if (body.contains("ival")) return exact(integer(sql, body), ValueKind::integer);
  if (body.contains("fval")) return number(sql, body.at("fval").value("fval", "0"), location);
  if (body.contains("boolval")) return exact(body.at("boolval").value("boolval", false) ? 1 : 0, ValueKind::boolean);
  if (!body.contains("sval")) {
    refuse(sql, location, Code::unsupported_sql, "bit strings, such as B'101', are not supported");
  }
  return Expression{.op = Op::literal,
                    .type = {ValueKind::text},
                    .strings = {body.at("sval").value("sval", "")},
                    .location = location};
}

std::optional<expression::Span> span_of(const std::string& sql, const Json& node) {
  const auto [tag, body] = tagged(node);
  if (tag != "TypeCast" || cast_type(body) != "interval") return std::nullopt;
  const Json& type = body.at("typeName");
  const auto text = string_to_cast(body);
  if (!text) return std::nullopt;
  std::string_view unit = "second";
  if (type.contains("typmods")) {
    // PostgreSQL distinguishes the units after the string by these bits.
    constexpr std::pair<int, std::string_view> kUnits[] = {{1 << 1, "month"}, {1 << 2, "year"},    {1 << 3, "day"},
                                                           {1 << 10, "hour"}, {1 << 11, "minute"}, {1 << 12, "second"}};
    const auto [mask_tag, mask_body] = tagged(type.at("typmods")[0]);
    const int mask = mask_tag == "A_Const" && mask_body.contains("ival") ? mask_body.at("ival").value("ival", 0) : 0;
    const auto* const found =
        std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& known) { return known.first == mask; });
    unit = found == std::end(kUnits) ? "" : found->second;
  }
  if (const auto span = expression::parse_span(*text, unit)) return span;
  refuse(sql, location_of(body, first_location(node)), Code::bad_sql,
         fmt::format("'{}' is not a valid interval; write it as interval '3 days', interval '3 days 04:05:06' or "
                     "interval '2' hour, in nanoseconds to years",
                     *text));
}

}  // namespace upsweep::query
