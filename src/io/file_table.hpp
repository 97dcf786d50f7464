// SPDX-License-Identifier: Apache-2.0
// io/file_table.hpp: the common part of the tables of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/format.hpp"
#include "io/posix.hpp"
#include "io/written_numbers.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// One row group whose number of rows is unknown before it is read, unless `starts_` gives it. It has no bounds of
/// values.
class FileTable : public Table, public RowPlaces {
 public:
  [[nodiscard]] const std::vector<Field>& fields() const final { return fields_; }
  [[nodiscard]] int row_groups() const final { return starts_.empty() ? 1 : static_cast<int>(starts_.size()) - 1; }
  [[nodiscard]] std::int64_t rows() const final { return knows_rows() ? starts_.back() : -1; }
  [[nodiscard]] std::int64_t rows(int row_group) const final {
    return knows_rows() ? start(row_group + 1) - start(row_group) : -1;
  }
  [[nodiscard]] ColumnRange range(int /*row_group*/, int /*column*/) const override { return {}; }
  /// Returns the number of rows that were counted before they are read; -1: they were not counted.
  [[nodiscard]] std::int64_t counted_rows() const { return starts_.empty() ? -1 : starts_.back(); }
  [[nodiscard]] virtual Format format() const = 0;
  [[nodiscard]] const FilePath& file() const { return file_; }
  /// Returns how many rows are NULL in a column; -1: only reading it shows that.
  [[nodiscard]] virtual std::int64_t nulls(int /*column*/) const { return -1; }
  /// Returns the bytes of a column in the file; -1: unknown.
  [[nodiscard]] virtual std::int64_t bytes(int /*column*/) const { return -1; }
  /// Returns whether rows of the file are missing because of CsvOptions::first_bytes.
  [[nodiscard]] virtual bool is_partial() const { return false; }
  /// Whether text has numbers with a decimal point, and nothing between thousands.
  [[nodiscard]] virtual bool has_plain_numbers() const { return true; }
  /// Returns how the numbers of each column are written; empty if the file is not CSV.
  [[nodiscard]] virtual const std::vector<WrittenNumbers>& written_numbers() const {
    static const std::vector<WrittenNumbers> none;
    return none;
  }
  /// Returns this table with columns that are read as other kinds: text, as the cells are written, or timestamps where
  /// all cells are dates. The second member of each pair is the kind. Returns null if the file is not CSV.
  [[nodiscard]] virtual std::shared_ptr<const Table> with_kinds(
      const std::vector<std::pair<int, ValueKind>>& /*columns*/) const {
    return nullptr;
  }
  /// Returns the line in which a cell begins, as an editor counts it; -1: the file has no lines.
  [[nodiscard]] virtual std::int64_t line(std::int64_t /*row*/, int /*column*/) const { return -1; }
  [[nodiscard]] std::string place(std::int64_t row, int column) const final {
    const std::int64_t at = line(row, column);
    return at >= 0 ? "line " + std::to_string(at) : Table::place(row, column);
  }
  [[nodiscard]] RowPlace place_of_row(std::int64_t row) const final { return {path_, row, line(row, 0)}; }

 protected:
  FileTable(FilePath file, const FileState& state) : file_(std::move(file)), path_(file_.name), state_(state) {}
  explicit FileTable(const FilePath& file) : FileTable(file, file_state(file)) {}

  [[nodiscard]] std::int64_t start(int row_group) const {
    return starts_.empty() ? 0 : starts_[static_cast<std::size_t>(row_group)];
  }

  [[nodiscard]] bool knows_rows() const { return !starts_.empty() && !read_to_count_; }

  FilePath file_;
  std::string path_;  // in messages
  FileState state_;   // of the file when the table was opened
  std::vector<Field> fields_;
  std::vector<std::int64_t> starts_;  // the first row of each row group, and the end
  bool read_to_count_ = false;        // starts_ and the rows are verified only by reading
};

}  // namespace upsweep::io
