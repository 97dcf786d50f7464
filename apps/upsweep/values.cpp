// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/values.cpp: values, carries and option values of a type known at run time.
#include "values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "core/decimal.hpp"
#include "core/visit.hpp"
#include "expression/date.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"

namespace upsweep::command {
namespace {

/// The whole text as a number.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (const auto exact = parse_number<std::int64_t>(text)) return *exact >= 0 ? exact : std::nullopt;
  const auto caret = text.find('^');
  const auto base = parse_number<double>(text.substr(0, caret));
  const auto exponent = caret == std::string_view::npos ? 1 : parse_number<double>(text.substr(caret + 1));
  const bool is_number = base && exponent && *base >= 0 && *exponent >= 0;
  const double value = is_number ? std::pow(*base, *exponent) : std::nan("");
  if (!(value >= 0 && value < 0x1p63) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

bool is_date(const io::ColumnInfo& meaning) { return meaning.meaning == io::Meaning::date; }

template <class T>
const T& element_of(const void* element) {
  return *static_cast<const T*>(element);
}

/// "12.3" with scale 2 is 1230. Empty where the text is no such number.
std::optional<std::int64_t> parse_scaled(std::string_view text, int scale) {
  WrittenNumber number;
  std::int64_t value = 0;
  if (!split_number(text, number) || !scaled_by(number, scale, value)) return std::nullopt;
  return value;
}

/// Days since 1970-01-01. Empty where the text is no date.
std::optional<std::int64_t> parse_days(std::string_view text) {
  try {
    return expression::parse_date("", std::string(text), 0);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// An identity that comes before the first date, which is none, has a sign only.
std::string date_of(std::int64_t days) {
  if (std::in_range<std::int32_t>(days)) return expression::date_text(days);
  return days > 0 ? "Infinity" : "-Infinity";
}

/// Whether each value of `from` is one of `to`; rounding to a float counts as holding.
bool holds_every(Type to, Type from) {
  if (is_float(to)) return !is_float(from) || size_of(to) >= size_of(from);
  if (is_signed(to) == is_signed(from)) return size_of(to) >= size_of(from);
  return is_signed(to) && size_of(to) > size_of(from);
}

}  // namespace

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void print_json(const Json& json) { print(json_text(json) + "\n"); }

bool is_scaled(Type type, const io::ColumnInfo& meaning) {
  return meaning.meaning == io::Meaning::decimal && type == Type::int64;
}

Json to_json(const void* element, Type type, const io::ColumnInfo& meaning) {
  if (is_scaled(type, meaning) || is_date(meaning)) return to_text(element, type, meaning);
  return visit_type(type, [&]<class T>(std::type_identity<T>) -> Json {
    const T value = element_of<T>(element);
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return to_text(element, type, meaning);
      // The shortest decimal that reads back as the same float, not its double's 17 digits.
      return Json::parse(fmt::format("{}", value));
    }
    return value;
  });
}

std::string to_text(const void* element, Type type, const io::ColumnInfo& meaning) {
  if (is_scaled(type, meaning)) return io::format_decimal(element_of<std::int64_t>(element), meaning.scale);
  if (is_date(meaning)) return date_of(element_of<std::int64_t>(element));
  return visit_type(type, [&]<class T>(std::type_identity<T>) -> std::string {
    const T value = element_of<T>(element);
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return "NaN";
      if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
      return fmt::format("{}", value);
    } else {
      return fmt::format("{}",
                         static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
    }
  });
}

std::string type_text(Type type, const io::ColumnInfo& meaning) {
  if (is_scaled(type, meaning)) return fmt::format("decimal, scale {}", meaning.scale);
  return is_date(meaning) ? "date" : std::string(name(type));
}

std::string stored_text(const void* element, Type type, const io::ColumnInfo& meaning) {
  const bool scaled = is_scaled(type, meaning) && meaning.scale > 0;
  if (!scaled && !is_date(meaning)) return {};
  return fmt::format("{}: {} means {}",
                     scaled ? fmt::format("scaled by 1{}", std::string(static_cast<std::size_t>(meaning.scale), '0'))
                            : "days since 1970-01-01",
                     element_of<std::int64_t>(element), to_text(element, type, meaning));
}

dynamic::Carry parse_carry(std::string_view text, Type type, const io::ColumnInfo& meaning, std::string_view option) {
  return visit_type(type, [&]<class T>(std::type_identity<T>) {
    std::optional<T> value = parse_number<T>(text);
    if (is_scaled(type, meaning) || is_date(meaning)) {
      const auto stored = is_date(meaning) ? parse_days(text) : parse_scaled(text, meaning.scale);
      value = stored ? std::optional<T>(static_cast<T>(*stored)) : std::nullopt;
    }
    if (value) return dynamic::Carry::of(type, &*value);
    throw Error(Code::invalid_argument, fmt::format("{} '{}' is no {} value", option, text, type_text(type, meaning)));
  });
}

Int128 exact_value(const dynamic::Carry& carry) {
  std::int64_t value = 0;
  carry.value(&value);
  return static_cast<Int128>(value) + static_cast<Int128>(carry.wraps()) * (Int128{1} << 64);
}

std::int64_t parse_count(const std::string& text, std::string_view option, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> count = whole_number(text);
  if (count && *count >= least && *count <= most) return *count;
  throw Error(Code::invalid_argument,
              fmt::format("{}: '{}' is no whole number from {} to {}, such as 1000, 1e6 or 2^20", option,
                          printable(text), least, most));
}

io::ColumnInfo meaning_of(const io::ColumnInfo& input, const std::string& dtype) {
  io::ColumnInfo meaning = input;
  if (is_date(input) && !dtype.empty()) meaning.meaning = io::Meaning::number;
  return meaning;
}

Type given_type(Type type, const std::string& dtype) {
  return parse_type(dtype) == Type::float64 ? Type::float64 : type;
}

Type parse_dtype(const std::string& text, const io::ColumnInfo& input) {
  if (text.empty()) return default_accumulator(input.type);
  const auto type = parse_type(text);
  if (!type) {
    throw Error(Code::invalid_argument,
                "--dtype '" + text + "' is not one of int8, …, int64, uint8, …, uint64, float32, float64");
  }
  if (is_float(input.type) && is_integer(*type)) {
    throw Error(Code::invalid_argument, "--dtype " + text + ": " + std::string(name(input.type)) +
                                            " elements are not made integers: choose float32 or float64");
  }
  if (input.meaning != io::Meaning::decimal) return *type;
  if (*type != Type::int64 && *type != Type::float64) {
    throw Error(Code::invalid_argument, "--dtype " + text +
                                            ": decimals are computed exactly, as scaled int64: leave --dtype out, or "
                                            "choose float64 for what they come to");
  }
  return Type::int64;
}

std::string operator_names(bool (*is_offered)(Operator)) {
  std::string names;
  for (int i = 0; i < kOperatorCount; ++i) {
    const auto op = static_cast<Operator>(i);
    if (is_offered != nullptr && !is_offered(op)) continue;
    names += (names.empty() ? "" : ", ") + std::string(name(op));
  }
  return names;
}

Operator parse_op(const std::string& text, const io::ColumnInfo& input, Type type) {
  const auto op = parse_operator(text);
  if (!op) throw Error(Code::invalid_argument, "--op '" + text + "' is not one of " + operator_names());
  if (is_integer_only(*op) && is_float(type)) {
    throw Error(Code::invalid_argument, "--op " + text + " needs integers, not " + std::string(name(type)));
  }
  if (input.meaning == io::Meaning::decimal && !keeps_scale(*op)) {
    throw Error(Code::invalid_argument,
                "--op " + text + " is not offered for decimals: choose one of " + operator_names(&keeps_scale));
  }
  if (is_date(input) && !selects(*op)) {
    throw Error(Code::invalid_argument, "--op " + text + " is not offered for dates: choose one of " +
                                            operator_names(&selects) +
                                            ", or --dtype int64, which takes dates as days since 1970-01-01");
  }
  if (selects(*op) && !holds_every(type, input.type)) {
    throw Error(Code::invalid_argument, "--op " + text + ": " + std::string(name(type)) + " does not hold every " +
                                            std::string(name(input.type)) + ": choose a wider --dtype");
  }
  return *op;
}

Overflow parse_overflow(const std::string& text, Operator op, Type type) {
  if (text == "wrap") return Overflow::wrap;
  if (text == "checked" && op != Operator::add) {
    throw Error(Code::invalid_argument, "--overflow checked is offered for --op add only");
  }
  if (!text.empty() && text != "checked") {
    throw Error(Code::invalid_argument, "--overflow '" + text + "' is neither checked nor wrap");
  }
  return op == Operator::add && is_integer(type) ? Overflow::checked : Overflow::wrap;
}

}  // namespace upsweep::command
