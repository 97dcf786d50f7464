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
#include "upsweep/types.hpp"

namespace upsweep::io {

/// How elements of the numeric types lie in a table.
inline constexpr std::pair<Type, Storage> kStorages[] = {
    {Type::int8, Storage::int8},       {Type::int16, Storage::int16},   {Type::int32, Storage::int32},
    {Type::int64, Storage::int64},     {Type::uint8, Storage::uint8},   {Type::uint16, Storage::uint16},
    {Type::uint32, Storage::uint32},   {Type::uint64, Storage::uint64}, {Type::float32, Storage::float32},
    {Type::float64, Storage::float64},
};

/// Reads `n` elements from row `first` on. Several threads may do so at the same time.
using ReadElements = std::function<void(std::int64_t first, std::int64_t n, void* to)>;

/// A column of a table.
struct TableColumn {
  std::unique_ptr<Table> table;
  int column = 0;
  std::string name;        ///< what messages call it: "FILE", "FILE:COLUMN" or "standard input"
  ReadElements read = {};  ///< null: it is read in batches, front to back
};

/// Says which of a table's columns, of which it sees the names, is the one that is wanted.
using ChooseColumn = std::function<int(const std::vector<Field>& fields)>;

/// Opens `source`, "FILE" or "FILE:COLUMN" as open_column() takes them, where FILE is CSV, whose cells are text then; else
/// nothing. Throws as open_table() does; unknown_column; malformed where no column is named and the only one is called by a
/// number, as in a file without names.
std::optional<TableColumn> open_csv_column(std::string_view source);

}  // namespace upsweep::io
