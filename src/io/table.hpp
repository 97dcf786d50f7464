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

#include "upsweep/io.hpp"

namespace upsweep::io {

inline constexpr int kInt64Digits = 18;  ///< of a decimal: as many as any 64-bit integer can hold

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

/// Says which of a table's columns, of which it sees the names, is the one that is wanted.
using ChooseColumn = std::function<int(const std::vector<Field>& fields)>;

/// Opens `source`, "FILE" or "FILE:COLUMN" as open_column() takes them, where FILE is CSV, whose cells are text then; else
/// nothing. Throws as open_table() does; unknown_column.
std::optional<TableColumn> open_csv_column(std::string_view source);

}  // namespace upsweep::io
