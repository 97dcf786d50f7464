// SPDX-License-Identifier: Apache-2.0
// io/parquet_pages.hpp: pages of Parquet column chunks that are compressed with Snappy.
#pragma once

#include <arrow/io/interfaces.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <memory>

namespace upsweep::io {

/// Where a column chunk says that it lies in its file.
arrow::io::ReadRange range_in_file(const parquet::ColumnChunkMetaData& chunk);

/// The pages of a column chunk of `file`, or null where Arrow's own reader must do: another codec, encryption, or a writer
/// that says wrong sizes. Half of a query's time on such files is Snappy: libsnappy needs a third less of it than what
/// PyArrow has built in, and snappy.hpp of numbers a third less again. Throws what Parquet throws.
std::unique_ptr<parquet::PageReader> open_snappy_pages(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                                       const parquet::FileMetaData& metadata,
                                                       const parquet::ColumnChunkMetaData& chunk,
                                                       parquet::ReaderProperties properties);

}  // namespace upsweep::io
