// SPDX-License-Identifier: Apache-2.0
// io/csv_cells.hpp: the kinds of cells of a CSV file, and columns of cells converted to Arrow's arrays.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/decimal.hpp"
#include "io/csv_block.hpp"
#include "io/csv_dialect.hpp"
#include "io/csv_numbers.hpp"
#include "io/csv_times.hpp"

namespace upsweep::io {

/// The kind of a single cell. Quotes around it make no difference.
enum class CellKind : std::uint8_t {
  empty,
  missing,  ///< a word such as NA: NULL in a column of numbers, dates or booleans
  integer,
  decimal,  ///< with a point and digits after it
  percent,  ///< a number with a percent sign
  real,     ///< any other number: an exponent, nan, inf, "5."
  date,
  time,       ///< of a day
  timestamp,  ///< a date and a time
  boolean,
  text,
};

struct Cell {
  CellKind kind = CellKind::empty;
  WrittenNumber number = {};  ///< of an integer or a decimal
  NumberMarks marks = {};     ///< of a number that CellReader found
  bool is_plain = true;       ///< false: only CellReader reads the number
  Moment moment = {};         ///< of a date, a time or a timestamp
};

/// Returns the kind of a cell as C++ and ISO 8601 write values. A number may have a sign before it, and blanks around
/// it. Digits that begin with 0, such as 08701, are a code, which is text: as a number it would lose digits. With a
/// sign or a point they are a number.
Cell cell_of(std::string_view text);

/// Determines the kinds of cells as a file writes them.
class CellReader {
 public:
  explicit CellReader(const CsvValues& values) : values_(values) {}
  /// Returns the kind of a cell. The cell's digits are valid until the next call.
  Cell operator()(std::string_view text);
  /// Returns a number as C++ writes it; an empty text if the cell cannot be one. It is valid until the next call.
  std::string_view plain(std::string_view text);

 private:
  const CsvValues& values_;
  PlainNumber number_;
  std::string swapped_;
};

/// How the cells of a column are converted.
struct CellForm {
  const CsvValues* values = nullptr;  ///< of the file
  bool is_plain = true;               ///< numbers are written as in C++
  DateOrder order = year_month_day;
  std::string_view required =
      {};  ///< the option that requires the type, such as "--types date"; empty: all cells of the file have it
};

/// Returns the year of a date that exists, such as 2001-12-31; nothing for any other text.
std::optional<int> year_of_date(std::string_view text);

/// Converts a column of a block to an array of a type for numbers, dates, times, booleans or text. In text, cells that
/// are empty and not in quotes are NULL, and so are words that an option lists. In other columns, empty cells and words
/// such as NA are NULL. A cell that is not of the
/// type, or not UTF-8, is a failure that names its row.
arrow::Result<std::shared_ptr<arrow::Array>> elements_of(const CsvColumn& cells,
                                                         const std::shared_ptr<arrow::DataType>& type,
                                                         const CellForm& form);

/// The message of elements_of() about text that is not UTF-8.
inline constexpr std::string_view kCellNotUtf8 = "the cell is not UTF-8";

}  // namespace upsweep::io
