// SPDX-License-Identifier: Apache-2.0
// io/arrow_table.cpp: picks the reader of tables for a format.
#include "io/arrow_table.hpp"

#include "io/arrow_errors.hpp"
#include "io/column.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::io {

std::unique_ptr<Table> open_arrow_table(Format format, const FilePath& file, const CsvOptions& csv, const ChooseColumn& choose,
                                        int threads) {
  return checked(file.name, [&]() -> arrow::Result<std::unique_ptr<Table>> {
    switch (format) {
      case Format::parquet:
        return open_parquet_table(file);
      case Format::ipc_file:
        return open_ipc_file_table(file);
      case Format::ipc_stream:
        return open_ipc_stream_table(file);
      case Format::csv:
        return open_csv_table(file, csv, choose, threads);
      default:
        break;
    }
    detail::no_such_value();
  });
}

bool arrow_built() noexcept { return true; }

}  // namespace upsweep::io
