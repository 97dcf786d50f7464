// SPDX-License-Identifier: Apache-2.0
// io/table.hpp: internal declarations about tables of files: how elements are stored, and one column of a table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/arrow_types.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {

/// Whether row i of a batch's column is NULL.
constexpr bool is_null(const ColumnData& data, std::int64_t i) {
  const std::int64_t bit = data.offset + i;
  return data.validity != nullptr && (data.validity[bit / 8] >> (bit % 8) & 1) == 0;
}

/// Returns a pointer to the elements from row `first` on, contiguous and valid until the next call. Throws malformed if
/// the file has changed.
using ElementsFrom = std::function<const void*(std::int64_t first)>;

/// A column of a table.
struct TableColumn {
  std::unique_ptr<Table> table;
  int column = 0;
  std::string name;            ///< in messages: "FILE", "FILE:COLUMN" or "standard input"
  ElementsFrom elements = {};  ///< null: it is read in batches, front to back
};

/// Returns the column of a file, by its fields, from which numbers are requested; -1: the file does not have it.
using ChooseColumn = std::function<int(const std::vector<Field>& fields)>;

/// Opens tables as the functions of io.hpp do. In CSV files the chosen column must have numbers, dates or booleans.
/// Otherwise it throws an error with the first cell that has not. The other columns have no type. `spool_folder`: of
/// temporary copies of standard input, pipes and compressed files; empty: the default folder of temporary files.
std::unique_ptr<Table> open_table(const std::string& path, const CsvOptions& csv, const ChooseColumn& choose,
                                  int threads, const std::string& spool_folder = {});
std::unique_ptr<Table> open_tables(const std::vector<std::string>& paths, const CsvOptions& csv,
                                   const ChooseColumn& choose, int threads, const std::string& spool_folder = {});

struct JoinedFiles;
/// Opens each of the files that match the paths, which are then the files of one table. Throws as open_tables() does.
JoinedFiles open_files(const std::vector<std::string>& paths, const CsvOptions& csv, const ChooseColumn& choose,
                       int threads, const std::string& spool_folder);

/// Returns the number of rows for a progress report, also if it is verified only by reading, as in CSV; -1: unknown.
std::int64_t expected_rows(const Table& table);

/// Returns whether rows of the files are missing because of CsvOptions::first_bytes.
bool is_partial(const Table& table);

/// Returns CsvOptions::first_bytes with which a query of rows begins whose LIMIT this is; 0: it needs whole files. That
/// is so for a large LIMIT, because the answer is in memory until it is known to be complete. It is also so if one of
/// the files is a pipe, which cannot be opened again. Throws as matching_files() does.
std::int64_t first_bytes(const std::vector<std::string>& paths, std::optional<std::int64_t> row_limit);
/// Returns CsvOptions::first_bytes of the next attempt, after these first bytes had too few rows; 0: all bytes.
std::int64_t more_bytes(std::int64_t first_bytes);

/// Opens `source`, "FILE" or "FILE:COLUMN" as for open_column(), if FILE is CSV. Its cells are then text. Otherwise
/// returns nothing. Throws as open_table() does; unknown_column.
std::optional<TableColumn> open_csv_column(std::string_view source, const CsvOptions& csv = {});

/// Returns the options with which all cells are text, as they are written: 007 stays 007.
inline CsvOptions as_written(CsvOptions csv = {}) {
  csv.types = {{"", "string"}};
  return csv;
}

}  // namespace upsweep::io
