// SPDX-License-Identifier: Apache-2.0
// io/arrow_table.hpp: Parquet, Arrow IPC and CSV files as tables, where Arrow C++ is built in.
#pragma once

#include <memory>
#include <string>

#include "io/format.hpp"
#include "io/list_reader.hpp"
#include "io/posix.hpp"
#include "io/table.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// Opens a table as open_table() does, for a known format. Throws not_built where Arrow C++ is not included. If
/// `choose` is given, it receives the names of a CSV file's columns. The column that it chooses has numbers or dates;
/// the others get no type.
std::unique_ptr<Table> open_arrow_table(Format format, const FilePath& file, const CsvOptions& csv, const ChooseColumn& choose,
                                        int threads);

/// Returns the lists of a column, and takes its table; null if the column has no lists. Throws unsupported_type for
/// lists with more levels.
std::unique_ptr<ListReader> open_lists(TableColumn& column, int threads, Levels most);

// These also throw what Arrow throws.
std::unique_ptr<Table> open_parquet_table(const FilePath& file);
std::unique_ptr<Table> open_ipc_file_table(const FilePath& file);
std::unique_ptr<Table> open_ipc_stream_table(const FilePath& file);
std::unique_ptr<Table> open_csv_table(const FilePath& file, const CsvOptions& csv, const ChooseColumn& choose, int threads);

}  // namespace upsweep::io
