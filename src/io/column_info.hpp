// SPDX-License-Identifier: Apache-2.0
// io/column_info.hpp: the type and the meaning of the elements of a column.
#pragma once

#include <cstdint>
#include <string>

#include "upsweep/table.hpp"
#include "upsweep/types.hpp"

namespace upsweep::io {

/// The meaning of the numbers of a column.
enum class Meaning : std::uint8_t {
  number,
  decimal,    ///< scaled integers: value = element / 10^scale
  date,       ///< days since 1970-01-01
  boolean,    ///< bytes, 0 or 1
  timestamp,  ///< since 1970-01-01 00:00: seconds = element / 10^scale
  time,       ///< of a day: seconds since midnight = element / 10^scale
  duration,   ///< seconds = element / 10^scale
};

/// Whether the numbers of a column are seconds.
constexpr bool is_temporal(Meaning meaning) { return meaning >= Meaning::timestamp; }

/// Whether a column of booleans is refused or returned as bytes.
enum class Booleans : std::uint8_t { refused, bytes };

struct ColumnInfo {
  Type type = Type::int64;
  Meaning meaning = Meaning::number;
  int scale = 0;            ///< decimal digits after the point, for Meaning::decimal, or after the second
  std::string zone = {};    ///< of timestamps: as in Field
  std::int64_t count = -1;  ///< elements; -1 if unknown before the end of the file (CSV, IPC streams)
  std::string name;         ///< in messages: "FILE" or "FILE:COLUMN"
  std::string field;        ///< its name in its table
};

/// Returns elements with a meaning as a table would declare them, without a name. Elements of a type that columns with
/// this meaning do not have, such as the float64 mean of decimals, are numbers.
[[nodiscard]] Field field_of(Type type, Meaning meaning, int scale, std::string zone);

/// Sets the type and the meaning of the elements of a column. Throws upsweep::Error unsupported_type for text, decimals
/// with more than 18 decimal places, types that tables do not read and, unless they are requested, booleans.
void set_elements(ColumnInfo& info, const Field& field, Booleans booleans);

/// Converts n booleans of a bitmap, from bit `first` on, to bytes.
void unpack_bits(const std::uint8_t* bits, std::int64_t first, std::int64_t n, std::uint8_t* bytes);

}  // namespace upsweep::io
