// SPDX-License-Identifier: Apache-2.0
// io/table.hpp: a file as a table that queries read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// What the cells of a CSV file are read as.
enum class CsvCells : std::uint8_t {
  typed,  ///< what the README of this folder says
  text,   ///< words, byte for byte as they are written; an empty cell without quotes is NULL, and nothing else is
};

/// Opens the file `path` as a table: Parquet, Arrow IPC (file or stream), CSV, or .npy, which has one column named as the
/// file without its folder and ending. The format is told as open_column() tells it; what becomes of which type stands
/// in the README of this folder. Columns of a type that is not computed with have their `Field::unsupported` set.
/// Parts: the row groups of Parquet, the record batches of an Arrow IPC file; other files are one part. Open parts
/// hold about a batch of each column, and the words of dictionaries; of an Arrow IPC file that is compressed, a part.
/// Ranges are known of Parquet only, where it has statistics: for integers, decimals, dates and floats. They leave NaN
/// out of account.
/// Throws upsweep::Error: not_found, unreadable, is_directory, malformed, unsupported_type, out_of_memory, not_built. So
/// does reading it; a file that is not any more what it was when it was opened is malformed.
std::unique_ptr<Table> open_table(const std::string& path, CsvCells cells = CsvCells::typed);

/// A column of a CSV file, whose cells are text.
struct CsvColumn {
  std::unique_ptr<Table> table;
  int column = 0;
  std::string name;  ///< what messages call it: "FILE:COLUMN"
};

/// Opens `source`, "FILE" or "FILE:COLUMN" as open_column() takes them, where FILE is CSV; else nothing. Throws as
/// open_table() does; unknown_column; malformed where no column is named and the only one is called by a number, as in a file
/// without names.
std::optional<CsvColumn> open_csv_column(std::string_view source);

}  // namespace upsweep::io
