// SPDX-License-Identifier: Apache-2.0
// io/parquet_range.hpp: what Parquet's statistics say about a column's values.
#pragma once

#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// The range of a column in a row group. Bounds are rounded outward, and infinite where they are missing or not to be
/// trusted. It may throw what Parquet throws.
ColumnRange range_of(const parquet::ColumnChunkMetaData& chunk, const Field& field);

/// The range of a column in each batch of a row group of `rows`, by the page index of the column chunk; empty where that is not
/// what it must be. Bounds are as above, and it may throw likewise.
std::vector<ColumnRange> ranges_of_batches(const parquet::ColumnDescriptor& column, const parquet::ColumnIndex& values,
                                           const parquet::OffsetIndex& places, std::int64_t rows, const Field& field);

/// Bounds of value / 10^scale: the greatest double that is not above it, and the least that is not below.
/// At most one double further out where the quotient is no integer.
double round_down(Int128 value, int scale);
double round_up(Int128 value, int scale);

}  // namespace upsweep::io
