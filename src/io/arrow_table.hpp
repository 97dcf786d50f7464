// SPDX-License-Identifier: Apache-2.0
// io/arrow_table.hpp: Parquet, Arrow IPC and CSV files as tables, where Arrow C++ is built in.
#pragma once

#include <memory>
#include <string>

#include "io/format.hpp"
#include "io/list_reader.hpp"
#include "io/table.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// As open_table(), for a format that is known; not_built where Arrow C++ is left out. `choose`, where there is one, sees the
/// names of a CSV file's columns: of the others no type is found out, and the one that it chooses is of numbers or dates.
std::unique_ptr<Table> open_arrow_table(Format format, const std::string& path, CsvCells cells,
                                        const ChooseColumn& choose, int threads);

/// The lists of a column, of which the table is taken; null where it has none. Throws unsupported_type for lists of more
/// levels.
std::unique_ptr<ListReader> open_lists(TableColumn& column, int threads, Levels most);

// These throw what Arrow throws too.
std::unique_ptr<Table> open_parquet_table(const std::string& path);
std::unique_ptr<Table> open_ipc_file_table(const std::string& path);
std::unique_ptr<Table> open_ipc_stream_table(const std::string& path);
std::unique_ptr<Table> open_csv_table(const std::string& path, CsvCells cells, const ChooseColumn& choose, int threads);

}  // namespace upsweep::io
