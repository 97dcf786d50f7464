// SPDX-License-Identifier: Apache-2.0
// io/table.hpp: files as tables, beyond what users see of them: a column of a CSV file as it is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "upsweep/io.hpp"

namespace upsweep::io {

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
