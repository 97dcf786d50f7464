// SPDX-License-Identifier: Apache-2.0
// io/csv_decimals.hpp: which columns of a CSV file are decimals, by all of their cells, and those cells as such.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_rows.hpp"

namespace upsweep::io {

/// What stands for NULL in a column of numbers. Arrow's own list has NaN, which is a number here.
inline constexpr std::array<std::string_view, 7> kNullCells = {"", "NA", "N/A", "#N/A", "NULL", "null", "None"};

/// The decimal type that each of `columns` (by their numbers, ascending) of a CSV file has; null: none. A column is one of
/// decimals where its cells are NULL or digits with or without a sign and a point, one at least with a point, and
/// `most_digits` hold them all: as many as are before the point anywhere and after it anywhere. The latter is its scale.
/// Reads all of the rows, as the last cell may have the most, on threads as run_each() has them. Throws as CsvFile::read()
/// does.
std::vector<std::shared_ptr<arrow::DataType>> find_decimals(const std::shared_ptr<const CsvFile>& file,
                                                            const CsvRows& rows, const std::vector<int>& columns,
                                                            int most_digits, int threads);

/// The cells, read as text, as elements of the decimal type. Throws malformed for a cell that is none, as may be where the
/// file has changed since find_decimals(); `name` and `first_row`, the number of the first cell's row, are for messages.
arrow::Result<std::shared_ptr<arrow::Array>> decimals_of(const arrow::Array& cells,
                                                         const std::shared_ptr<arrow::DataType>& type,
                                                         const std::string& name, std::int64_t first_row);

}  // namespace upsweep::io
