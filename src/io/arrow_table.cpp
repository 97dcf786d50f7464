// SPDX-License-Identifier: Apache-2.0
// io/arrow_table.cpp: which reader of tables a format has.
#include "io/arrow_table.hpp"

#include "upsweep/error.hpp"

namespace upsweep::io {

std::unique_ptr<Table> open_arrow_table(Format format, const std::string& path) {
  if (format == Format::parquet) return open_parquet_table(path);
  throw Error(Code::not_built, path + ": only Parquet is read as a table yet");
}

}  // namespace upsweep::io
