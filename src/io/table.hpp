// SPDX-License-Identifier: Apache-2.0
// io/table.hpp: files as tables, beyond what users see of them: how elements lie, and one column of a table.
#pragma once

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

/// Where the elements from row `first` on lie, one after the other, until the next call. Throws malformed for a file that
/// has changed.
using ElementsFrom = std::function<const void*(std::int64_t first)>;

/// A column of a table.
struct TableColumn {
  std::unique_ptr<Table> table;
  int column = 0;
  std::string name;            ///< what messages call it: "FILE", "FILE:COLUMN" or "standard input"
  ElementsFrom elements = {};  ///< null: it is read in batches, front to back
};

/// Returns which of a file's columns is the one that numbers are asked of, by their names; -1: the file does not have it.
using ChooseColumn = std::function<int(const std::vector<Field>& fields)>;

/// Opens tables as those of io.hpp do. In CSV files the chosen column is one of numbers, dates or booleans, or an error with its
/// first cell that is something else, and the other columns have no type.
std::unique_ptr<Table> open_table(const std::string& path, CsvCells cells, const ChooseColumn& choose, int threads);
std::unique_ptr<Table> open_tables(const std::vector<std::string>& paths, CsvCells cells, const ChooseColumn& choose,
                                   int threads);

/// Opens `source`, "FILE" or "FILE:COLUMN" as open_column() takes them, where FILE is CSV, whose cells are text then; else
/// nothing. Throws as open_table() does; unknown_column.
std::optional<TableColumn> open_csv_column(std::string_view source);

}  // namespace upsweep::io
