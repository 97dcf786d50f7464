// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/values.cpp: values, carries and option values of types known at run time.
#include "values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/visit.hpp"
#include "io/number_lines.hpp"
#include "output.hpp"
#include "upsweep/detail/operator_hint.hpp"
#include "upsweep/query.hpp"

namespace upsweep::command {
namespace {

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

/// "1970-01-01 00:00" or "midnight"; empty for durations.
std::string_view origin_of(const io::ColumnInfo& meaning) {
  if (is_date(meaning)) return "1970-01-01";
  return meaning.meaning == io::Meaning::timestamp ? "1970-01-01 00:00" : "midnight";
}

std::string_view unit_of(const io::ColumnInfo& meaning) {
  constexpr std::string_view kUnits[] = {"seconds", "milliseconds", "microseconds", "nanoseconds"};
  return is_date(meaning) ? "days" : kUnits[meaning.scale / 3];
}

std::string_view word_of(const io::ColumnInfo& meaning) {
  if (is_date(meaning)) return "date";
  if (meaning.meaning == io::Meaning::timestamp) return "timestamp";
  return meaning.meaning == io::Meaning::time ? "time" : "duration";
}

bool is_boolean(Type type, const io::ColumnInfo& meaning) {
  return meaning.meaning == io::Meaning::boolean && type == Type::uint8;
}

template <class T>
const T& element_of(const void* element) {
  return *static_cast<const T*>(element);
}

/// "12.3" with scale 2 is 1230. Empty if the text is not such a number.
std::optional<std::int64_t> parse_scaled(std::string_view text, int scale) {
  io::Decimal number;
  if (io::parse_decimal(text, number) != io::NumberFault::none || number.scale > scale) return std::nullopt;
  if (!io::scale_up(number.digits, scale - number.scale)) return std::nullopt;
  return number.digits;
}

/// Seconds as text, by text() or iso_text(). The identities of minimum and maximum are infinite.
std::string seconds_text(const void* element, Type type, const io::ColumnInfo& meaning,
                         std::string (*text_of)(const Field&, const Cell&)) {
  return visit_type(type, [&]<class T>(std::type_identity<T>) -> std::string {
    const auto value = static_cast<std::int64_t>(element_of<T>(element));
    if (value == std::numeric_limits<std::int64_t>::max()) return "Infinity";
    if (value == std::numeric_limits<std::int64_t>::min()) return "-Infinity";
    return text_of(field_of(type, meaning), {.exact = value});
  });
}

/// Whether `to` holds each value of `from`; rounding to a float counts as holding.
bool holds_every(Type to, Type from) {
  if (is_float(to)) return !is_float(from) || size_of(to) >= size_of(from);
  if (is_signed(to) == is_signed(from)) return size_of(to) >= size_of(from);
  return is_signed(to) && size_of(to) > size_of(from);
}

}  // namespace

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

io::CellText cell_text(io::ResultFormat format) { return format == io::ResultFormat::json ? iso_text : text; }

Field field_of(Type type, const io::ColumnInfo& meaning) {
  return io::field_of(type, meaning.meaning, meaning.scale, meaning.zone);
}

void add_remarks(Json& object) {
  if (!taken_remarks().empty() && !object.contains("remarks")) object["remarks"] = taken_remarks();
}

void print_json(Json object) {
  add_remarks(object);
  print(json_text(object) + "\n");
}

bool is_calendar(const io::ColumnInfo& meaning) { return is_date(meaning) || io::is_temporal(meaning.meaning); }

bool is_scaled(Type type, const io::ColumnInfo& meaning) {
  return meaning.meaning == io::Meaning::decimal && type == Type::int64;
}

Json to_json(const void* element, Type type, const io::ColumnInfo& meaning) {
  if (is_scaled(type, meaning) || is_date(meaning)) return to_text(element, type, meaning);
  if (io::is_temporal(meaning.meaning)) return seconds_text(element, type, meaning, iso_text);
  if (is_boolean(type, meaning)) return element_of<std::uint8_t>(element) != 0;
  return visit_type(type, [&]<class T>(std::type_identity<T>) -> Json {
    const T value = element_of<T>(element);
    if constexpr (std::is_floating_point_v<T>) {
      const std::string text = to_text(element, type, meaning);
      if (text == "-0") return -0.0;  // parsing it as an integer would lose its sign
      return std::isfinite(value) ? Json::parse(text) : Json(text);
    }
    return value;
  });
}

std::string to_text(const void* element, Type type, const io::ColumnInfo& meaning) {
  if (is_boolean(type, meaning)) return element_of<std::uint8_t>(element) != 0 ? "true" : "false";
  if (io::is_temporal(meaning.meaning)) return seconds_text(element, type, meaning, text);
  return visit_type(type, [&]<class T>(std::type_identity<T>) -> std::string {
    const T value = element_of<T>(element);
    if constexpr (std::is_floating_point_v<T>) {
      // The shortest decimal that reads back as the same float, not the 17 digits of its double.
      return std::isfinite(value) ? fmt::format("{}", value) : text(field_of(type, meaning), {.real = value});
    } else {
      // An identity before the first date is not a date: only its sign is printed.
      if (is_date(meaning) && !std::in_range<std::int32_t>(value)) return value > 0 ? "Infinity" : "-Infinity";
      return text(field_of(type, meaning), {.exact = value});
    }
  });
}

std::string type_text(Type type, const io::ColumnInfo& meaning) {
  if (is_scaled(type, meaning)) return fmt::format("decimal, scale {}", meaning.scale);
  return std::string(is_calendar(meaning) ? word_of(meaning) : type_word(type, meaning));
}

std::string_view type_word(Type type, const io::ColumnInfo& meaning) {
  return is_boolean(type, meaning) ? "bool" : name(type);
}

std::string stored_text(const void* element, Type type, const io::ColumnInfo& meaning) {
  const bool scaled = is_scaled(type, meaning) && meaning.scale > 0;
  const bool is_number = is_date(meaning) || meaning.meaning == io::Meaning::time;
  if (!scaled && !is_number) return {};
  const auto stored = visit_type(
      type, [&]<class T>(std::type_identity<T>) { return static_cast<std::int64_t>(element_of<T>(element)); });
  return fmt::format("{}: {} means {}",
                     scaled ? fmt::format("scaled by 1{}", std::string(static_cast<std::size_t>(meaning.scale), '0'))
                            : fmt::format("{} since {}", unit_of(meaning), origin_of(meaning)),
                     stored, to_text(element, type, meaning));
}

dynamic::Carry parse_carry(std::string_view text, Type type, const io::ColumnInfo& meaning, std::string_view option) {
  return visit_type(type, [&]<class T>(std::type_identity<T>) {
    std::optional<T> value = parse_number<T>(text);
    if (is_boolean(type, meaning)) {
      const bool is_known = text == "true" || text == "false" || text == "0" || text == "1";
      value = is_known ? std::optional<T>(static_cast<T>(text == "true" || text == "1")) : std::nullopt;
    } else if (is_scaled(type, meaning) || is_calendar(meaning)) {
      const auto stored =
          is_calendar(meaning) ? element_with_text(field_of(type, meaning), text) : parse_scaled(text, meaning.scale);
      value = stored ? std::optional<T>(static_cast<T>(*stored)) : std::nullopt;
    }
    if (value) return dynamic::Carry::of(type, &*value);
    refuse("{} '{}' is not a {} value", option, text, type_text(type, meaning));
  });
}

Int128 exact_value(const dynamic::Carry& carry) {
  std::int64_t value = 0;
  carry.value(&value);
  return static_cast<Int128>(value) + static_cast<Int128>(carry.wraps()) * (Int128{1} << 64);
}

std::string decimal_text(Int128 exact, int scale) {
  return text({.kind = ValueKind::decimal, .scale = scale}, {.exact = exact});
}

std::int64_t parse_count(const std::string& text, std::string_view option, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> count = whole_number(text);
  if (count && *count >= least && *count <= most) return *count;
  refuse("{}: '{}' is not a whole number from {} to {}, such as 1000, 1e6 or 2^20", option, printable(text), least,
         most);
}

io::ColumnInfo meaning_of(const io::ColumnInfo& input, const std::string& dtype) {
  io::ColumnInfo meaning = input;
  if (is_calendar(input) && !dtype.empty()) meaning.meaning = io::Meaning::number;
  return meaning;
}

Type type_by(Operator op, Type type, const std::string& dtype, io::ColumnInfo& meaning) {
  if (meaning.meaning != io::Meaning::boolean) return type;
  if (selects(op) && dtype.empty()) return meaning.type;
  meaning.meaning = io::Meaning::number;
  return type;
}

Type given_type(Type type, const std::string& dtype) {
  return parse_type(dtype) == Type::float64 ? Type::float64 : type;
}

io::ResultColumn column_of(const io::ColumnInfo& meaning, Type given, Operator op) {
  const bool scaled = is_scaled(given, meaning);
  const bool keeps = scaled || meaning.meaning != io::Meaning::decimal;
  std::optional<std::int64_t> no_value;
  if (selects(op) && (scaled || is_calendar(meaning))) {
    visit_type(given, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_integral_v<T>) no_value = static_cast<std::int64_t>(identity<T>(op));
    });
  }
  return {.name = meaning.field,
          .type = given,
          .meaning = keeps ? meaning.meaning : io::Meaning::number,
          .scale = scaled || io::is_temporal(meaning.meaning) ? meaning.scale : 0,
          .zone = meaning.zone,
          .no_value = no_value};
}

std::string type_names(std::span<const Type> types) {
  std::vector<std::string_view> names;
  for (const Type type : types) names.push_back(name(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string type_hint(std::string_view word) {
  struct Synonyms {
    std::string_view words;
    Type type;
  };
  constexpr Synonyms kSynonyms[] = {{" int integer long longlong bigint i64 ", Type::int64},
                                    {" i32 ", Type::int32},
                                    {" uint ulong u64 ", Type::uint64},
                                    {" u32 ", Type::uint32},
                                    {" float double real f64 ", Type::float64},
                                    {" single f32 ", Type::float32}};
  const std::string wanted = fmt::format(" {} ", word);
  for (const auto& [words, type] : kSynonyms) {
    if (words.find(wanted) != std::string_view::npos) return fmt::format(": write {}", name(type));
  }
  return "";
}

Type parse_dtype(const std::string& text, const io::ColumnInfo& input) {
  if (text.empty()) return default_accumulator(input.type);
  const auto type = parse_type(text);
  if (!type) {
    std::vector<Type> all;
    all.reserve(kTypeCount);
    for (int i = 0; i < kTypeCount; ++i) all.push_back(static_cast<Type>(i));
    refuse("--dtype '{}' is not one of {}{}", text, type_names(all), type_hint(text));
  }
  if (is_float(input.type) && is_integer(*type)) {
    refuse("--dtype {}: {} elements are not converted to integers: choose float32 or float64", text, name(input.type));
  }
  if (input.meaning != io::Meaning::decimal) return *type;
  if (*type != Type::int64 && *type != Type::float64) {
    refuse(
        "--dtype {}: decimals are computed exactly, as scaled int64: omit --dtype, or choose float64 for the "
        "values",
        text);
  }
  return Type::int64;
}

std::string operator_names(bool (*is_offered)(Operator)) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kOperatorCount; ++i) {
    const auto op = static_cast<Operator>(i);
    if (is_offered == nullptr || is_offered(op)) names.push_back(name(op));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Operator parse_op(const std::string& text, const io::ColumnInfo& input, Type type, std::string_view option) {
  const auto op = parse_operator(text);
  if (!op)
    refuse("{} '{}' is not one of {}{}", option, text, operator_names(),
           detail::operator_hint(text, fmt::format("{} ", option)));
  if (is_integer_only(*op) && is_float(type)) refuse("{} {} needs integers, not {}", option, text, name(type));
  if (input.meaning == io::Meaning::decimal && !keeps_scale(*op)) {
    refuse("{} {} is not offered for decimals: choose one of {}", option, text, operator_names(&keeps_scale));
  }
  if (input.meaning == io::Meaning::duration && !keeps_scale(*op)) {
    refuse("{} {} is not offered for durations: choose one of {}", option, text, operator_names(&keeps_scale));
  }
  if (is_calendar(input) && input.meaning != io::Meaning::duration && !selects(*op)) {
    refuse("{} {} is not offered for {}s: choose one of {}, or --dtype int64, which reads them as {} since {}", option,
           text, word_of(input), operator_names(&selects), unit_of(input), origin_of(input));
  }
  if (selects(*op) && !holds_every(type, input.type)) {
    refuse("{} {}: {} does not hold every {}: choose a wider --dtype", option, text, name(type), name(input.type));
  }
  return *op;
}

Overflow parse_overflow(const std::string& text, Operator op, Type type) {
  if (text == "wrap") return Overflow::wrap;
  if (text == "checked" && op != Operator::add) {
    refuse("--overflow checked: only add is checked, not {}; leave it out, or choose --overflow wrap", name(op));
  }
  if (!text.empty() && text != "checked") refuse("--overflow '{}' is neither checked nor wrap", text);
  return op == Operator::add && is_integer(type) ? Overflow::checked : Overflow::wrap;
}

}  // namespace upsweep::command
