// SPDX-License-Identifier: Apache-2.0
// io/parquet_rows.hpp: how a Parquet file is opened, and the rows of a row group as Arrow's record batches.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/parquet_values.hpp"

namespace upsweep::io {

/// The metadata of a file, read once and shared by all readers of its rows.
struct ParquetSchema {
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::vector<parquet::arrow::SchemaField> fields;
};

arrow::Result<ParquetSchema> read_parquet_schema(const std::string& path);

/// Reads columns of a row group, each of which has one leaf, front to back. Numbers and text are decoded to their final
/// place. Arrow's own readers make arrays of the rest.
class ParquetRows {
 public:
  /// `columns`: of the schema, ascending. It throws what Parquet throws, and so do next() and skip().
  static arrow::Result<ParquetRows> open(const std::string& path, const ParquetSchema& schema, int row_group,
                                         const std::vector<int>& columns);

  /// Reads at most kBatchRows rows; returns null at the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next();

  /// Skips at most `rows` rows; returns how many there were. Only columns that Arrow's readers read are decoded for
  /// that.
  arrow::Result<std::int64_t> skip(std::int64_t rows);

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_others();

  std::shared_ptr<parquet::ParquetFileReader> file_;
  std::shared_ptr<parquet::RowGroupReader> group_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<ValueReader>> columns_;  // null: the next column of `others_`
  std::shared_ptr<parquet::arrow::FileReader> others_file_;
  std::shared_ptr<arrow::RecordBatchReader> others_;
  std::shared_ptr<arrow::RecordBatch> others_kept_;  // read, but not returned yet
  std::int64_t left_ = 0;                            // rows
};

}  // namespace upsweep::io
