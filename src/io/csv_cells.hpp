// SPDX-License-Identifier: Apache-2.0
// io/csv_cells.hpp: the kinds of cells of a CSV file, and columns of cells converted to Arrow's arrays.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/decimal.hpp"
#include "io/csv_block.hpp"

namespace upsweep::io {

/// The kind of a single cell. Quotes around it make no difference.
enum class CellKind : std::uint8_t {
  empty,
  missing,  ///< a word such as NA: NULL in a column of numbers, dates or booleans
  integer,
  decimal,  ///< with a point and digits after it
  real,     ///< any other number: an exponent, nan, inf, "5."
  date,
  boolean,
  text,
};

struct Cell {
  CellKind kind = CellKind::empty;
  WrittenNumber number = {};  ///< of an integer or a decimal
};

/// Returns the kind of a cell. A number may have a sign before it, and blanks around it. Digits that begin with 0, such
/// as 08701, are a code, which is text: as a number it would lose digits. With a sign or a point they are a number.
Cell cell_of(std::string_view text);

/// Whether the text is a date that exists, such as 2001-12-31.
bool is_date(std::string_view text);

/// Converts a column of a block to an array of a type for numbers, dates, booleans or text. In text only cells that are
/// empty and not in quotes are NULL; in other columns empty cells and words such as NA are. A cell that is not of the
/// type, or not UTF-8, is a failure that names its row.
arrow::Result<std::shared_ptr<arrow::Array>> elements_of(const CsvColumn& cells,
                                                         const std::shared_ptr<arrow::DataType>& type);

/// The message of elements_of() about text that is not UTF-8.
inline constexpr std::string_view kCellNotUtf8 = "the cell is not UTF-8";

}  // namespace upsweep::io
