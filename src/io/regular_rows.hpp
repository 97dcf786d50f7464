// SPDX-License-Identifier: Apache-2.0
// io/regular_rows.hpp: the rows of a CSV file of any dialect, read as rows of RFC 4180 with equal numbers of cells.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_split.hpp"
#include "io/posix.hpp"
#include "io/text_view.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {

/// How the rows of a file are written.
struct RowForm {
  CsvMarks marks;
  std::string comment = {};     ///< lines that begin with it are left out; empty: none
  bool has_blank_rows = false;  ///< lines of blanks are left out
  bool has_end_marks = false;   ///< a delimiter ends each row, so the cell after it is dropped
  bool has_row_names = false;   ///< the first column has no name in the header row, which has a cell less
  Ragged ragged = Ragged::refuse;
  std::size_t columns = 0;  ///< cells of a row; Ragged::fill adds columns if a row has more cells that are not empty
};

/// The part of a file's text that is a table.
struct TablePart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t line = 1;  ///< in which it begins, counted from 1
  std::int64_t most = 0;  ///< reading stops soon after this number of bytes; 0: it does not
};

/// Rows of another length, or with quotes out of order.
struct IrregularRows {
  std::int64_t filled = 0;
  std::int64_t skipped = 0;
  std::array<std::int64_t, 3> lines = {};  ///< of the first of them, counted from 1

  [[nodiscard]] std::int64_t count() const { return filled + skipped; }
  /// Adds rows that follow. Their lines are increased by `lines_before`.
  void add(const IrregularRows& next, std::int64_t lines_before);
};

/// The text has one character between cells, double quotes that are doubled within quotes, and lines that end with \n
/// or \r\n. Any number of threads may read it. Memory: 32 bytes for each 64 KiB of the file, and a few row lengths
/// while it is read.
class RegularRows final : public TextView {
 public:
  /// Scans a part of a file, or of a view of it, on threads as run_each() does. Throws upsweep::Error: unreadable;
  /// malformed, with the line, for a row that Ragged::refuse does not allow, and for a row that is too long.
  RegularRows(const Descriptor& file, std::string path, std::shared_ptr<const TextView> view, RowForm form,
              const TablePart& part, int threads);

  [[nodiscard]] std::int64_t size() const override { return marks_.back().out; }
  std::int64_t read(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t offset) const override;

  /// Returns the character between cells: that of the file, or a comma where it has several characters or is a blank.
  [[nodiscard]] char delimiter() const;
  /// Returns the line of the file, counted from 1, of the row that contains a place of the text.
  [[nodiscard]] std::int64_t line_at(const Descriptor& file, std::int64_t place) const;
  /// Whether rows follow that are not read.
  [[nodiscard]] bool has_more() const { return marks_.back().in < end_; }
  [[nodiscard]] const IrregularRows& irregular() const { return irregular_; }
  /// Returns the number of cells of each row.
  [[nodiscard]] std::size_t columns() const { return form_.columns; }

 private:
  // The start of a row: in bytes of the file's text, in bytes of this text, and its line.
  struct Mark {
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t line = 0;
    bool is_same = false;  // whether the rows up to the next mark are those of the file
  };
  class Rewriter;
  struct Scanned;

  // Sets the marks. Returns false, with more columns, if a row has more cells than there are columns.
  bool scan(const Descriptor& file, const TablePart& part, int threads);
  Scanned scan_rows(const Descriptor& file, const Mark& start, std::int64_t until) const;
  std::int64_t next_line(const Descriptor& file, std::int64_t from) const;

  void read_bytes(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t place) const;

  std::string path_;
  std::shared_ptr<const TextView> view_;
  RowForm form_;
  std::int64_t begin_;
  std::int64_t end_;
  IrregularRows irregular_;
  std::vector<Mark> marks_;  // the last one is the end
};

}  // namespace upsweep::io
