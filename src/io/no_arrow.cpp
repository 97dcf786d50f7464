// SPDX-License-Identifier: Apache-2.0
// io/no_arrow.cpp: replaces the readers and writers that use Arrow in a build without Arrow C++.
#include <fmt/format.h>

#include "io/arrow_table.hpp"
#include "io/column.hpp"
#include "io/result_writer.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {

bool arrow_built() noexcept { return false; }

std::unique_ptr<Table> open_arrow_table(Format format, const std::string& path, const CsvOptions& /*csv*/,
                                        const ChooseColumn& /*choose*/, int /*threads*/) {
  throw Error(
      Code::not_built,
      fmt::format("{}: reading {} needs Arrow C++, which this build does not include; build with UPSWEEP_ARROW=ON, or "
                  "save the column as .npy",
                  path, describe(format)));
}

std::unique_ptr<ResultWriter> open_arrow_results(const std::string& path, Shape /*shape*/,
                                                 std::vector<ResultColumn> /*columns*/) {
  throw Error(Code::not_built,
              fmt::format("{}: writing Parquet and Arrow IPC needs Arrow C++, which this build does not include; build "
                          "with UPSWEEP_ARROW=ON, or write .npy",
                          path));
}

std::unique_ptr<ListReader> open_lists(TableColumn& /*column*/, int /*threads*/, Levels /*most*/) { return nullptr; }

}  // namespace upsweep::io
