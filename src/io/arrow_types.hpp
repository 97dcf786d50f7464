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
  int scale = 0;  ///< of timestamps, times and durations: digits after the second
};

/// Returns the type of 64-bit numbers of seconds: timestamps, times and durations.
constexpr ArrowType seconds_type(std::string_view format, ValueKind kind, int scale) {
  return {format, kind, Storage::int64, 8, Stored::as_computed, TextLayout::none, scale};
}

/// The formats of timestamps end in a colon, which the name of a zone may follow.
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
    seconds_type("tss:", ValueKind::timestamp, 0),
    seconds_type("tsm:", ValueKind::timestamp, 3),
    seconds_type("tsu:", ValueKind::timestamp, 6),
    seconds_type("tsn:", ValueKind::timestamp, 9),
    {"tts", ValueKind::time, Storage::int32, 4},
    {"ttm", ValueKind::time, Storage::int32, 4, Stored::as_computed, TextLayout::none, 3},
    seconds_type("ttu", ValueKind::time, 6),
    seconds_type("ttn", ValueKind::time, 9),
    seconds_type("tDs", ValueKind::duration, 0),
    seconds_type("tDm", ValueKind::duration, 3),
    seconds_type("tDu", ValueKind::duration, 6),
    seconds_type("tDn", ValueKind::duration, 9),
    {"tiM", ValueKind::interval, Storage::int128, 4, Stored::months},
    {"tiD", ValueKind::interval, Storage::int128, 8, Stored::days_and_milliseconds},
    {"tin", ValueKind::interval, Storage::int128, 16, Stored::interval},
    {"b", ValueKind::boolean, Storage::bit, 0},
    {"u", ValueKind::text, Storage::int32, 0, Stored::as_computed, TextLayout::offsets32},
    {"U", ValueKind::text, Storage::int32, 0, Stored::as_computed, TextLayout::offsets64},
    {"vu", ValueKind::text, Storage::int32, 0, Stored::as_computed, TextLayout::views},
};

/// Returns the zone in the format of a timestamp; empty if there is none, and for other types.
constexpr std::string_view zone_in(std::string_view format) {
  const bool is_timestamp = format.starts_with("ts") && format.size() > 4 && format[3] == ':';
  return is_timestamp ? format.substr(4) : std::string_view();
}

/// Returns null for an unsupported type, and for decimals.
inline const ArrowType* arrow_type_of(std::string_view format) {
  format.remove_suffix(zone_in(format).size());
  const auto* const row = std::find_if(std::begin(kArrowTypes), std::end(kArrowTypes),
                                       [&](const ArrowType& type) { return type.format == format; });
  return row == std::end(kArrowTypes) ? nullptr : row;
}

}  // namespace upsweep::io
