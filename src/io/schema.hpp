// SPDX-License-Identifier: Apache-2.0
// io/schema.hpp: what is known about files before their rows are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "upsweep/io.hpp"

namespace upsweep::io {

/// A column of a table. A number is -1 if it is not known without reading the column.
struct ColumnSchema {
  std::string name;
  std::string type;         ///< as in messages: "int32", "decimal(18, 2)", "text"; also of unsupported types
  std::int64_t nulls = -1;  ///< rows that are NULL
  std::int64_t bytes = -1;  ///< in the files, compressed
};

/// A table of one file, or of several.
struct Schema {
  std::vector<std::string> files;
  std::vector<std::string> formats;  ///< each once: "Parquet", "CSV", with its compression: "CSV, gzip"
  std::int64_t bytes = 0;            ///< of all files
  std::int64_t rows = -1;            ///< -1: only reading shows it
  int row_groups = 0;
  std::vector<ColumnSchema> columns;
  std::vector<std::string> remarks;  ///< about the form of the files: Table::remarks()
};

/// Opens files as open_tables() does, and describes their table. Throws as open_tables() does.
Schema schema_of(const std::vector<std::string>& paths, const CsvOptions& csv = {}, int threads = 0);

}  // namespace upsweep::io
