// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/values.hpp: single values of a type known at run time: parsed from options, printed as text and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/column.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep::command {

using Json = nlohmann::ordered_json;

/// On one line. Bytes that are no UTF-8 (in the names of files) are replaced.
std::string json_text(const Json& json);
/// Writes that to standard output.
void print_json(const Json& json);

/// An element: as JSON an exact number; NaN and infinities are strings, decimals too. `meaning` gives decimals their
/// point where the type still is the scaled int64 of their column.
Json to_json(const void* element, Type type, const io::ColumnInfo& meaning);
/// The same as text.
std::string to_text(const void* element, Type type, const io::ColumnInfo& meaning);

/// "float64", or "decimal, scale 2" where the elements are scaled.
std::string type_text(Type type, const io::ColumnInfo& meaning);

/// The carry of a command-line value in elements of `type`. Throws invalid_argument, saying which option.
detail::CarryBytes parse_carry(std::string_view text, Type type, const io::ColumnInfo& meaning,
                               std::string_view option);
/// The carry that an operator starts from: of its identity, or of nothing.
detail::CarryBytes identity_carry(Operator op, Type type);
detail::CarryBytes empty_carry(Type type);
[[nodiscard]] int carry_size(Type type);

/// Whether a checked sum does not fit.
[[nodiscard]] bool has_overflowed(const detail::CarryBytes& carry, Type type);
/// Writes the carry's value as one element; false where nothing was folded.
bool carry_value(const detail::CarryBytes& carry, Type type, void* element);

/// "1000", "1e6" or "2^20". Throws invalid_argument where that is no whole number from least to most, saying which option.
std::int64_t parse_count(const std::string& text, std::string_view option, std::int64_t least, std::int64_t most);

/// --op, --dtype, --overflow. Throw invalid_argument with what there is.
Type parse_dtype(const std::string& text, const io::ColumnInfo& input);
Operator parse_op(const std::string& text, const io::ColumnInfo& input, Type type);
Overflow parse_overflow(const std::string& text, Operator op, Type type);

}  // namespace upsweep::command
