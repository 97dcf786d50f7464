// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/values.hpp: single values of a type known at run time: parsed from options, printed as text and JSON.
#pragma once

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/column.hpp"
#include "io/result_writer.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/table.hpp"
#include "upsweep/types.hpp"

namespace upsweep::command {

using Json = nlohmann::ordered_json;

/// The whole text as a number; empty where it is none that T holds.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// On one line. Bytes that are no UTF-8 (in the names of files) are replaced.
std::string json_text(const Json& json);
/// Writes that to standard output.
void print_json(const Json& json);

/// Whether elements are the scaled int64 of a column of decimals.
[[nodiscard]] bool is_scaled(Type type, const io::ColumnInfo& meaning);

/// An element: as JSON an exact number; NaN and infinities are strings, decimals and dates too. `meaning` gives decimals
/// their point where the type still is the scaled int64 of their column; dates are int64.
Json to_json(const void* element, Type type, const io::ColumnInfo& meaning);
/// The same as text.
std::string to_text(const void* element, Type type, const io::ColumnInfo& meaning);

/// "float64", or "bool": what JSON calls the type.
std::string_view type_word(Type type, const io::ColumnInfo& meaning);
/// The same, or "decimal, scale 2" where the elements are scaled.
std::string type_text(Type type, const io::ColumnInfo& meaning);

/// What is stored where that is another figure than the one that is printed: "scaled by 100: 1700 means 17.00",
/// "days since 1970-01-01: 10440 means 1998-08-02"; else nothing.
std::string stored_text(const void* element, Type type, const io::ColumnInfo& meaning);

/// The carry of a command-line value in elements of `type`. Throws invalid_argument, saying which option.
dynamic::Carry parse_carry(std::string_view text, Type type, const io::ColumnInfo& meaning, std::string_view option);

/// The value of a carry of int64, with what of a checked sum 64 bits do not hold.
[[nodiscard]] Int128 exact_value(const dynamic::Carry& carry);

/// exact / 10^scale as text.
std::string decimal_text(Int128 exact, int scale);

/// "1000", "1e6" or "2^20". Throws invalid_argument where that is no whole number from least to most, saying which option.
std::int64_t parse_count(const std::string& text, std::string_view option, std::int64_t least, std::int64_t most);

/// What a column's elements stand for under --dtype: dates of which a type is asked for are the days that they are stored as.
io::ColumnInfo meaning_of(const io::ColumnInfo& input, const std::string& dtype);
/// What is given out of what is computed as `type`: of decimals, which stay scaled int64 until then, float64 by request.
Type given_type(Type type, const std::string& dtype);

/// The column that folds of a column by `op`, given out as `given`, are written as.
io::ResultColumn column_of(const io::ColumnInfo& meaning, Type given, Operator op);

/// "int32, int64"; and ": write int64" for "int", and the like, empty where nothing is known.
std::string type_names(std::span<const Type> types);
std::string type_hint(std::string_view word);

/// --op, --dtype (the type that is computed in), --overflow. Throw invalid_argument with what there is.
Type parse_dtype(const std::string& text, const io::ColumnInfo& input);
/// "add, mul, min, …": the library's operators, or those of them that are offered.
std::string operator_names(bool (*is_offered)(Operator) = nullptr);
Operator parse_op(const std::string& text, const io::ColumnInfo& input, Type type, std::string_view option = "--op");
Overflow parse_overflow(const std::string& text, Operator op, Type type);

}  // namespace upsweep::command
