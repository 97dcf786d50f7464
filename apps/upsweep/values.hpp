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

/// The whole text as a number; empty if it is not a number that T holds.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// JSON on one line. Bytes that are not UTF-8 (in file names) are replaced.
std::string json_text(const Json& json);
/// Returns the function that writes values to files of the format. In JSON, times are those of --json.
io::CellText cell_text(io::ResultFormat format);
/// Adds "remarks", if take_remarks() has taken lines and the object has no such entry.
void add_remarks(Json& object);
/// Writes an object on one line to standard output, with its remarks.
void print_json(Json object);

/// Whether elements are the scaled int64 of a column of decimals.
[[nodiscard]] bool is_scaled(Type type, const io::ColumnInfo& meaning);

/// Whether elements are dates or seconds, which are printed as ISO text.
[[nodiscard]] bool is_calendar(const io::ColumnInfo& meaning);

/// An element as JSON: an exact number; NaN, infinities, decimals, dates and times are strings. `meaning` has the scale
/// of decimals if the type is still the scaled int64 of their column. Dates and times are int64.
Json to_json(const void* element, Type type, const io::ColumnInfo& meaning);
/// An element as text, in the same way.
std::string to_text(const void* element, Type type, const io::ColumnInfo& meaning);

/// Elements of `type` as a table would declare them, without a name.
Field field_of(Type type, const io::ColumnInfo& meaning);

/// The name of the type in JSON: "float64", or "bool".
std::string_view type_word(Type type, const io::ColumnInfo& meaning);
/// The name of the type, or "decimal, scale 2" if the elements are scaled.
std::string type_text(Type type, const io::ColumnInfo& meaning);

/// Describes the stored number if it differs from the printed one: "scaled by 100: 1700 means 17.00",
/// "days since 1970-01-01: 10440 means 1998-08-02". Otherwise empty. Timestamps and durations are stored as such.
std::string stored_text(const void* element, Type type, const io::ColumnInfo& meaning);

/// The carry of a command-line value in elements of `type`. Throws invalid_argument, which names the option.
dynamic::Carry parse_carry(std::string_view text, Type type, const io::ColumnInfo& meaning, std::string_view option);

/// The value of a carry of int64, including the upper bits of a checked sum that 64 bits do not hold.
[[nodiscard]] Int128 exact_value(const dynamic::Carry& carry);

/// exact / 10^scale as text.
std::string decimal_text(Int128 exact, int scale);

/// Parses "1000", "1e6" or "2^20". Throws invalid_argument, which names the option, for anything other than a whole
/// number from least to most.
std::int64_t parse_count(const std::string& text, std::string_view option, std::int64_t least, std::int64_t most);

/// The meaning of a column's elements under --dtype: dates and times with a requested type are the numbers that
/// represent them.
io::ColumnInfo meaning_of(const io::ColumnInfo& input, const std::string& dtype);
/// The type of a computation by `op`: the elements' own type where booleans stay booleans, as their minimum does. In
/// other computations booleans are the numbers 0 and 1, and `meaning` changes.
Type type_by(Operator op, Type type, const std::string& dtype, io::ColumnInfo& meaning);
/// The output type of a computation in `type`: float64 on request for decimals, which stay scaled int64 until then.
Type given_type(Type type, const std::string& dtype);

/// The result column for folds of a column by `op` with the output type `given`.
io::ResultColumn column_of(const io::ColumnInfo& meaning, Type given, Operator op);

/// "int32, int64".
std::string type_names(std::span<const Type> types);
/// ": write int64" for "int" and similar words; empty if no type is known for the word.
std::string type_hint(std::string_view word);

/// Parse --op, --dtype (the type of the computation) and --overflow. Throw invalid_argument with the available values.
Type parse_dtype(const std::string& text, const io::ColumnInfo& input);
/// "add, mul, min, …": the library's operators, or only those that are offered.
std::string operator_names(bool (*is_offered)(Operator) = nullptr);
Operator parse_op(const std::string& text, const io::ColumnInfo& input, Type type, std::string_view option = "--op");
Overflow parse_overflow(const std::string& text, Operator op, Type type);

}  // namespace upsweep::command
