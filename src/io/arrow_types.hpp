// SPDX-License-Identifier: Apache-2.0
// io/arrow_types.hpp: the table of supported Arrow types, by the formats of its C data interface; without decimals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "io/stored_elements.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// Digits of a decimal that a 128-bit integer can always hold.
inline constexpr int kMostDigits = 38;
/// Digits of a decimal that a 64-bit integer can always hold.
inline constexpr int kInt64Digits = 18;

/// How the text of a column is stored: by offsets of 32 or 64 bits, or as views.
enum class TextLayout : std::uint8_t { none, offsets32, offsets64, views };

/// How elements of an Arrow type are returned, and how they are stored.
struct ArrowType {
  std::string_view format;
  ValueKind kind;
  Storage storage;
  std::int64_t width;  ///< bytes of a stored element; 0: bits, or text
  Stored stored = Stored::as_computed;
  TextLayout text = TextLayout::none;
};
inline constexpr ArrowType kArrowTypes[] = {
    {"c", ValueKind::integer, Storage::int8, 1},
    {"s", ValueKind::integer, Storage::int16, 2},
    {"i", ValueKind::integer, Storage::int32, 4},
    {"l", ValueKind::integer, Storage::int64, 8},
    {"C", ValueKind::integer, Storage::uint8, 1},
    {"S", ValueKind::integer, Storage::uint16, 2},
    {"I", ValueKind::integer, Storage::uint32, 4},
    {"L", ValueKind::integer, Storage::uint64, 8},
    {"n", ValueKind::integer, Storage::int64, 8},  // all NULL
    {"e", ValueKind::real, Storage::float32, 2, Stored::half_float},
    {"f", ValueKind::real, Storage::float32, 4},
    {"g", ValueKind::real, Storage::float64, 8},
    {"tdD", ValueKind::date, Storage::int32, 4},
    {"tdm", ValueKind::date, Storage::int32, 8, Stored::date64},
    {"b", ValueKind::boolean, Storage::bit, 0},
    {"u", ValueKind::text, Storage::int32, 0, Stored::as_computed, TextLayout::offsets32},
    {"U", ValueKind::text, Storage::int32, 0, Stored::as_computed, TextLayout::offsets64},
    {"vu", ValueKind::text, Storage::int32, 0, Stored::as_computed, TextLayout::views},
};

/// Returns null for an unsupported type, and for decimals.
inline const ArrowType* arrow_type_of(std::string_view format) {
  const auto* const row = std::find_if(std::begin(kArrowTypes), std::end(kArrowTypes),
                                       [&](const ArrowType& type) { return type.format == format; });
  return row == std::end(kArrowTypes) ? nullptr : row;
}

}  // namespace upsweep::io
