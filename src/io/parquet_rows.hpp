// SPDX-License-Identifier: Apache-2.0
// io/parquet_rows.hpp: the rows of a Parquet row group as Arrow's record batches.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "io/arrow_files.hpp"

namespace upsweep::io {

/// Reads columns of a row group, each of which has one leaf, front to back. Where Parquet stores elements as they are
/// used, they are decoded to where they stay; Arrow's own readers make arrays of the rest. Those would copy decimals that
/// are stored as integers once more: without, columns of prices and quantities take a tenth to a fifth less time.
class ParquetRows {
 public:
  /// `columns`: of the schema, ascending. It throws, and next() too, what Parquet throws.
  static arrow::Result<ParquetRows> open(const ParquetFile& file, int row_group, const std::vector<int>& columns);

  /// At most kBatchRows of them; null at the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next();

 private:
  // A column; where it has no reader of its own, it is the next one of `others_`.
  struct Column {
    std::shared_ptr<arrow::DataType> type;
    std::shared_ptr<parquet::internal::RecordReader> records;
  };

  std::shared_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<parquet::RowGroupReader> group_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<Column> columns_;
  std::shared_ptr<arrow::RecordBatchReader> others_;
  std::int64_t left_ = 0;  // rows
};

}  // namespace upsweep::io
