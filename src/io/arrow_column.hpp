// SPDX-License-Identifier: Apache-2.0
// io/arrow_column.hpp: the columns of Parquet, Arrow IPC and CSV files, where Arrow C++ is built in.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/column.hpp"
#include "io/format.hpp"

namespace upsweep::io {

/// Opens one column of the table in `path`; without a `column`, the table must have exactly one. Which types are read,
/// and as what, stands in the README of this folder. Throws upsweep::Error as open_column() does; not_built where Arrow
/// C++ is left out.
std::unique_ptr<ColumnReader> open_arrow_column(Format format, const std::string& path,
                                                const std::optional<std::string>& column);

}  // namespace upsweep::io
