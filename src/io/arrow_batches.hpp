// SPDX-License-Identifier: Apache-2.0
// io/arrow_batches.hpp: Arrow's record batches, of any length, made into the batches of a table.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/arrow_elements.hpp"
#include "io/file_table.hpp"
#include "io/posix.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// What a table declares for a column of Arrow's type.
Field field_of(const arrow::Field& field);

/// Columns asked for, each once and in the file's order, and which of those each one asked for is.
struct Selection {
  explicit Selection(const std::vector<int>& asked);
  std::vector<int> columns;
  std::vector<int> places;
};

using NextBatch = arrow::Result<std::shared_ptr<arrow::RecordBatch>>;

/// Rows in columns as a Selection has them, front to back. Both may throw what Arrow throws.
struct RecordBatches {
  /// Null at the end.
  std::function<NextBatch()> next;
  /// How many rows it passed over, at most `rows`. Without it they are read by next.
  std::function<arrow::Result<std::int64_t>(std::int64_t rows)> skip = nullptr;
};

/// An array's elements, as the table declares them: where they lie, or converted. `path` and `first_row` are for messages.
ColumnData elements_of(const Field& field, const std::string& path, const std::shared_ptr<arrow::Array>& array,
                       std::int64_t first_row, Memory& memory);

/// A file that is read through Arrow.
class ArrowTable : public FileTable {
 public:
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const final {
    return read(row_group, columns, batches(row_group, columns));
  }
  /// A row group's rows in those columns, as Arrow has them. Throws what Arrow throws.
  [[nodiscard]] virtual RecordBatches batches(int row_group, const std::vector<int>& columns) const = 0;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Of the file when the table was opened.
  [[nodiscard]] const FileState& state() const { return state_; }
  [[nodiscard]] const arrow::DataType& type(int column) const { return *types_[static_cast<std::size_t>(column)]; }

 protected:
  using FileTable::FileTable;
  void declare(const arrow::FieldVector& fields);
  /// The next row group has so many rows. Throws malformed where that cannot be: files lie.
  void add_row_group(std::int64_t rows);
  /// Reads one of its row groups. Throws upsweep::Error unsupported_type where a column asked for is of a type that is
  /// not computed with.
  [[nodiscard]] std::unique_ptr<BatchReader> read(int row_group, const std::vector<int>& columns,
                                                  RecordBatches source) const;

  std::vector<std::shared_ptr<arrow::DataType>> types_;  // of all fields
};

}  // namespace upsweep::io
