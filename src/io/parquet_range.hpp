// SPDX-License-Identifier: Apache-2.0
// io/parquet_range.hpp: converts Parquet's statistics about a column's values to bounds.
#pragma once

#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// Returns the range of a column in a row group. Bounds are rounded outward, and infinite if they are missing or not
/// reliable. It may throw what Parquet throws.
ColumnRange range_of(const parquet::ColumnChunkMetaData& chunk, const Field& field);

/// Returns the range of a column in each batch of a row group of `rows` rows, from the page index of the column chunk.
/// The result is empty if the index is invalid. Bounds and exceptions are those of range_of().
std::vector<ColumnRange> ranges_of_batches(const parquet::ColumnDescriptor& column, const parquet::ColumnIndex& values,
                                           const parquet::OffsetIndex& places, std::int64_t rows, const Field& field);

/// Return bounds of value / 10^scale: the largest double that is not above it, and the smallest that is not below.
/// They are at most one double further out if the quotient is not an integer.
double round_down(Int128 value, int scale);
double round_up(Int128 value, int scale);

}  // namespace upsweep::io
