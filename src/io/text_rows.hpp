// SPDX-License-Identifier: Apache-2.0
// io/text_rows.hpp: writes rows as CSV, as JSON, or as lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/output_file.hpp"
#include "io/result_format.hpp"
#include "upsweep/query.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// A file of rows, written cell after cell:
///   - CSV: RFC 4180 with a header row and the line end \n. A cell is in quotes where a reader needs them: see
///     csv_cell(). A NULL is an empty cell.
///   - JSON: an array of objects, one on each line. Decimals, dates, times, NaN and infinities are strings.
///   - text: the values of a row are separated by tabs.
/// Floats are the shortest text that reads back as the same float. In CSV and JSON they have a point or an exponent.
class TextRows {
 public:
  /// `columns`: name, kind and scale; for floats also the storage. Throws as OutputFile does.
  TextRows(const std::string& path, ResultFormat format, std::vector<Field> columns, CellText text);

  void begin_row();
  /// Writes the next cell of the row.
  void add(const Cell& cell);
  /// Writes the next cell of the row, a list: add_element() for each of its elements, and then end_list().
  void begin_list();
  void add_element(const Cell& cell);
  void end_list();
  /// Throws upsweep::Error: disk_full, unwritable. A closed pipe raises io::ClosedPipe.
  void end_row();

  void complete();
  void close();
  void take_back() noexcept { file_.take_back(); }

 private:
  /// Begins the next cell, whose column is `column_`.
  void begin_cell();
  void append_value(std::string& to, const Field& column, const Cell& cell) const;
  void flush();

  OutputFile file_;
  ResultFormat format_;
  std::vector<Field> columns_;
  std::vector<std::string> keys_;  // of JSON: `"name":`
  CellText text_;
  std::string rows_;  // that are not written yet
  std::string list_;  // the current list
  std::size_t column_ = 0;
  bool any_row_ = false;
  bool any_element_ = false;
  bool completed_ = false;
};

/// Returns a text as a cell of CSV. It is in quotes in these cases:
///   - it has a comma, a quote, an end of a line, or a blank at an end;
///   - it is empty, because an empty cell without quotes is NULL;
///   - a reader could take it for a value of another type, such as 12, true or 2024-01-31. A code such as 007 is text.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// Returns a text as a string of JSON. Bytes that are not UTF-8 are replaced by U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace upsweep::io
