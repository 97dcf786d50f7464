// SPDX-License-Identifier: Apache-2.0
// io/column_info.hpp: what the elements of a column are, and stand for.
#pragma once

#include <cstdint>
#include <string>

#include "upsweep/table.hpp"
#include "upsweep/types.hpp"

namespace upsweep::io {

/// What the numbers of a column stand for beside their value.
enum class Meaning : std::uint8_t {
  number,
  decimal,  ///< scaled integers: value = element / 10^scale
  date,     ///< days since 1970-01-01
  boolean,  ///< bytes, 0 or 1
};

/// What becomes of a column of booleans.
enum class Booleans : std::uint8_t { refused, bytes };

struct ColumnInfo {
  Type type = Type::int64;
  Meaning meaning = Meaning::number;
  int scale = 0;            ///< decimal digits after the point, for Meaning::decimal
  std::int64_t count = -1;  ///< elements, or -1 where only the end of the file shows it (CSV, IPC streams)
  std::string name;         ///< what messages call it: "FILE" or "FILE:COLUMN"
  std::string field;        ///< its name in its table
};

/// Sets what the elements of a column are. Throws upsweep::Error unsupported_type for text, decimals of more than 18 digits,
/// what tables do not read and, unless they are asked for, booleans.
void set_elements(ColumnInfo& info, const Field& field, Booleans booleans);

/// n booleans of a bitmap, from bit `first` on, as a byte each.
void unpack_bits(const std::uint8_t* bits, std::int64_t first, std::int64_t n, std::uint8_t* bytes);

}  // namespace upsweep::io
