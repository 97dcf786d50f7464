// SPDX-License-Identifier: Apache-2.0
// io/csv_sample.hpp: the first rows of a CSV file, split in any dialect, and the kinds of their cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_split.hpp"

namespace upsweep::io {

/// A line of the file, or several lines if quoted cells contain ends of lines.
struct CsvRecord {
  std::int64_t line = 0;         ///< of the file, counted from 1
  std::int64_t row = 0;          ///< records before it
  std::int64_t empty_lines = 0;  ///< before it, in the sample
  std::size_t begin = 0;         ///< its place in the text
  std::string_view text;         ///< without its end
  std::vector<CsvCell> cells;
};

/// Lines above a table, or below it.
inline constexpr std::size_t kMostTitles = 30;

struct CsvSample {
  std::vector<CsvRecord> records;  ///< without empty lines; only those before a fault
  bool quote_fault = false;        ///< text follows a closing quote, or the file ends within quotes
  std::size_t end = 0;             ///< where the last record ends
};

/// Returns the number of lines that end in a text.
std::int64_t count_lines(std::string_view text);

/// Splits text that begins in line `line` of a file into records. It returns about 1,000 records at most, and the last
/// lines of the text if they may be notes. `whole`: the text ends where the file ends. Otherwise a last record is
/// omitted if it does not end. `mends`: in a line whose quotes are out of order, such quotes are ordinary characters;
/// otherwise the line is a fault.
CsvSample split_sample(std::string_view text, const CsvMarks& marks, std::int64_t line, bool whole, bool mends = false);

/// The apparent kind of a cell. Names of columns rarely look like the values below them, unless both are text.
struct CellLook {
  enum class Kind : std::uint8_t {
    empty,    ///< or a word for a missing value
    number,   ///< digits; sign, point and exponent are optional
    boolean,  ///< true or false
    figure,   ///< digits and other characters without letters: a date, time, range or percentage
    text,
  };
  Kind kind = Kind::empty;
  std::string shape = {};  ///< of a figure: the characters between its digits

  [[nodiscard]] bool is_typed() const { return kind != Kind::empty && kind != Kind::text; }
  bool operator==(const CellLook&) const = default;
};

CellLook look_of(std::string_view cell);

/// Returns the kind of all cells of a column, from record `first` on; text if they differ. Cells that are empty or
/// missing are ignored.
CellLook look_of_column(const std::vector<CsvRecord>& records, std::size_t first, std::size_t column);

}  // namespace upsweep::io
