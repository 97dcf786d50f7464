// SPDX-License-Identifier: Apache-2.0
// io/no_arrow.cpp: replaces the readers and writers that use Arrow in a build without Arrow C++.
#include <fmt/format.h>

#include "io/answer_writer.hpp"
#include "io/arrow_table.hpp"
#include "io/column.hpp"
#include "io/result_writer.hpp"
#include "io/spool.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {

bool arrow_built() noexcept { return false; }

std::unique_ptr<Table> open_arrow_table(Format format, const FilePath& file, const CsvOptions& /*csv*/,
                                        const ChooseColumn& /*choose*/, int /*threads*/) {
  throw Error(
      Code::not_built,
      fmt::format("{}: reading {} needs Arrow C++, which this build does not include; build with UPSWEEP_ARROW=ON, or "
                  "save the column as .npy",
                  file.name, describe(format)));
}

FilePath decompress(const FilePath& file, Format format, const std::string& /*folder*/, std::int64_t /*most*/) {
  throw Error(
      Code::not_built,
      fmt::format("{}: is compressed by {}, and decompressing needs Arrow C++, which this build does not include; "
                  "decompress it first, such as by {}",
                  file.name, describe(format), decompressor(format)));
}

namespace {

[[noreturn]] void refuse_arrow_output(const std::string& path) {
  throw Error(Code::not_built,
              fmt::format("{}: writing Parquet and Arrow IPC needs Arrow C++, which this build does not include; build "
                          "with UPSWEEP_ARROW=ON, or write .csv, .json or .npy",
                          path));
}

}  // namespace

std::unique_ptr<ResultWriter> open_arrow_results(const std::string& path, ResultFormat /*format*/, Shape /*shape*/,
                                                 std::vector<ResultColumn> /*columns*/) {
  refuse_arrow_output(path);
}

std::unique_ptr<AnswerWriter> open_arrow_answer(const std::string& path, ResultFormat /*format*/,
                                                std::vector<Field> /*columns*/) {
  refuse_arrow_output(path);
}

std::unique_ptr<ListReader> open_lists(TableColumn& /*column*/, int /*threads*/, Levels /*most*/) { return nullptr; }

}  // namespace upsweep::io
