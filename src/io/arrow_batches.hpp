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

#include "io/file_table.hpp"
#include "io/posix.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// What a table declares for a column of Arrow's type.
Field field_of(const arrow::Field& field);
std::vector<Field> fields_of(const arrow::Schema& schema);

/// The first row of each part, and the end. Throws malformed where the counts cannot be: files lie.
std::vector<std::int64_t> starts_of(const std::string& path, const std::vector<std::int64_t>& rows);

/// Columns asked for, each once and in the file's order, and which of those each one asked for is.
struct Selection {
  explicit Selection(const std::vector<int>& asked);
  std::vector<int> columns;
  std::vector<int> places;
};

/// The next rows in columns as a Selection has them, null at the end. It may throw what Arrow throws.
using RecordBatches = std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>()>;

/// A part of a table, opened to be read.
struct ArrowPart {
  std::string path;
  FileState state;             ///< of the file when the table was opened
  std::vector<Field> fields;   ///< of the columns asked for
  std::vector<int> places;     ///< where in a record batch each of them is
  std::int64_t first_row = 0;  ///< its number in the table
  std::int64_t rows = -1;      ///< -1 where only reading finds out
  RecordBatches source;
};

/// Throws upsweep::Error unsupported_type where a column asked for is of a type that is not computed with.
std::unique_ptr<BatchReader> read_batches(ArrowPart part);

/// A file that is read through Arrow.
class ArrowTable : public FileTable {
 protected:
  using FileTable::FileTable;
  /// One of its parts, without the source.
  [[nodiscard]] ArrowPart make_part(int part, const std::vector<int>& columns) const;
};

}  // namespace upsweep::io
