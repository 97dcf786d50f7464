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

/// Columns asked for, each once and in the file's order, and which of those each one asked for is.
struct Selection {
  explicit Selection(const std::vector<int>& asked);
  std::vector<int> columns;
  std::vector<int> places;
};

using NextBatch = arrow::Result<std::shared_ptr<arrow::RecordBatch>>;

/// The next rows in columns as a Selection has them, null at the end. It may throw what Arrow throws.
using RecordBatches = std::function<NextBatch()>;

/// A file that is read through Arrow.
class ArrowTable : public FileTable {
 protected:
  using FileTable::FileTable;
  /// The next part has so many rows. Throws malformed where that cannot be: files lie.
  void add_part(std::int64_t rows);
  /// Reads one of its parts. Throws upsweep::Error unsupported_type where a column asked for is of a type that is not computed
  /// with.
  [[nodiscard]] std::unique_ptr<BatchReader> read(int part, const std::vector<int>& columns,
                                                  RecordBatches source) const;
};

}  // namespace upsweep::io
