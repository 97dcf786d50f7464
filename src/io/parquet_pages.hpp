// SPDX-License-Identifier: Apache-2.0
// io/parquet_pages.hpp: pages of Parquet column chunks that are compressed with Snappy.
#pragma once

#include <arrow/io/interfaces.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <memory>

namespace upsweep::io {

/// Returns the range of its file that a column chunk claims.
arrow::io::ReadRange range_in_file(const parquet::ColumnChunkMetaData& chunk);

/// Returns the pages of a column chunk of `file`, or null if Arrow's own reader must be used. That is the case for
/// another codec, encryption, or a writer that stores wrong sizes. Half of a query's time on such files is Snappy.
/// libsnappy needs a third less of it than PyArrow's built-in version, and snappy.hpp needs another third less for
/// numbers. Throws what Parquet throws.
std::unique_ptr<parquet::PageReader> open_snappy_pages(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                                       const parquet::FileMetaData& metadata,
                                                       const parquet::ColumnChunkMetaData& chunk,
                                                       parquet::ReaderProperties properties);

}  // namespace upsweep::io
