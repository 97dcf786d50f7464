// SPDX-License-Identifier: Apache-2.0
// io/arrow_batches.hpp: converts Arrow's record batches, of any length, to the batches of a table.
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

/// Returns the field that a table declares for a column of Arrow's type.
Field field_of(const arrow::Field& field);

/// Requested columns: `columns` has each once, in the file's order; `places` has the index in `columns` of each
/// requested one.
struct Selection {
  explicit Selection(const std::vector<int>& asked);
  std::vector<int> columns;
  std::vector<int> places;
};

using NextBatch = arrow::Result<std::shared_ptr<arrow::RecordBatch>>;

/// The rows of the columns of a Selection, front to back. Both functions may throw what Arrow throws.
struct RecordBatches {
  /// Returns null at the end.
  std::function<NextBatch()> next;
  /// Skips at most `rows` rows and returns how many it skipped. Without it, rows to skip are read by next.
  std::function<arrow::Result<std::int64_t>(std::int64_t rows)> skip = nullptr;
};

/// Returns an array's elements as the table declares them, in place or converted. `path` and `first_row` are for
/// messages.
ColumnData elements_of(const Field& field, const std::string& path, const std::shared_ptr<arrow::Array>& array,
                       std::int64_t first_row, Memory& memory);

/// A file that is read through Arrow.
class ArrowTable : public FileTable {
 public:
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const final {
    return read(row_group, columns, batches(row_group, columns));
  }
  /// Returns a row group's rows in those columns, as Arrow stores them. Throws what Arrow throws.
  [[nodiscard]] virtual RecordBatches batches(int row_group, const std::vector<int>& columns) const = 0;
  /// The state of the file when the table was opened.
  [[nodiscard]] const FileState& state() const { return state_; }
  [[nodiscard]] const arrow::DataType& type(int column) const { return *types_[static_cast<std::size_t>(column)]; }

 protected:
  using FileTable::FileTable;
  void declare(const arrow::FieldVector& fields);
  /// Adds the next row group, of `rows` rows. Throws malformed if that is impossible: files may be wrong.
  void add_row_group(std::int64_t rows);
  /// Reads one of its row groups. Throws upsweep::Error unsupported_type if a requested column has an unsupported type.
  [[nodiscard]] std::unique_ptr<BatchReader> read(int row_group, const std::vector<int>& columns,
                                                  RecordBatches source) const;

  std::vector<std::shared_ptr<arrow::DataType>> types_;  // of all fields
};

}  // namespace upsweep::io
