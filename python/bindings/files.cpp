// SPDX-License-Identifier: Apache-2.0
// bindings/files.cpp: the module upsweep._files: files as tables, for upsweep._queries, which has defined what a table is.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

/// A reader whose rows are counted from another one on.
class LaterRows final : public BatchReader {
 public:
  LaterRows(std::unique_ptr<BatchReader> reader, std::int64_t rows_before)
      : reader_(std::move(reader)), rows_before_(rows_before) {}
  bool next(Batch& batch) override {
    const bool is_read = reader_->next(batch);
    batch.first_row += rows_before_;
    return is_read;
  }
  void skip() override { reader_->skip(); }
  void may_repeat_texts() override { reader_->may_repeat_texts(); }

 private:
  std::unique_ptr<BatchReader> reader_;
  std::int64_t rows_before_;
};

/// Files of the same columns, one after the other.
class FileList final : public Table {
 public:
  FileList(const std::vector<std::string>& paths, int threads) {
    for (const std::string& path : paths) add(path, io::open_table(path, io::CsvCells::typed, threads));
  }

  [[nodiscard]] const std::vector<Field>& fields() const override { return files_.front().table->fields(); }
  [[nodiscard]] int parts() const override { return files_.back().first_part + files_.back().table->parts(); }
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t rows(int part) const override {
    const File& file = file_of(part);
    return file.table->rows(part - file.first_part);
  }
  [[nodiscard]] ColumnRange range(int part, int column) const override {
    const File& file = file_of(part);
    return file.table->range(part - file.first_part, column);
  }
  [[nodiscard]] std::vector<ColumnRange> batch_ranges(int part, int column) const override {
    const File& file = file_of(part);
    return file.table->batch_ranges(part - file.first_part, column);
  }
  [[nodiscard]] bool skips_cheaply() const override {
    return std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.table->skips_cheaply(); });
  }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int part, const std::vector<int>& columns) const override {
    const File& file = file_of(part);
    return std::make_unique<LaterRows>(file.table->open(part - file.first_part, columns), file.first_row);
  }

 private:
  struct File {
    std::unique_ptr<Table> table;
    int first_part = 0;
    std::int64_t first_row = 0;  // in the file itself where the rows before it are not known
  };

  void add(const std::string& path, std::unique_ptr<Table> table) {
    if (!files_.empty()) require_same(path, table->fields());
    const int first_part = files_.empty() ? 0 : parts();
    const std::int64_t rows = table->rows();
    files_.push_back({std::move(table), first_part, std::max<std::int64_t>(rows_, 0)});
    rows_ = rows_ < 0 || rows < 0 ? -1 : rows_ + rows;
  }

  void require_same(const std::string& path, const std::vector<Field>& fields) const {
    const std::vector<Field>& first = this->fields();
    if (fields.size() != first.size()) {
      throw Error(Code::invalid_argument, path + ": has " + std::to_string(fields.size()) +
                                              " columns, and the files before it have " + std::to_string(first.size()));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const Field& a = first[i];
      const Field& b = fields[i];
      if (a.name == b.name && a.kind == b.kind && a.storage == b.storage && a.scale == b.scale) continue;
      throw Error(Code::invalid_argument, path + ": column '" + b.name +
                                              "' is not what the files before it have there, '" + a.name +
                                              "', or is of another type");
    }
  }

  [[nodiscard]] const File& file_of(int part) const {
    const auto later =
        std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.first_part > part; });
    return *(later - 1);
  }

  std::vector<File> files_;
  std::int64_t rows_ = 0;
};

/// Paths are bytes, as the file system has them: they need not be UTF-8.
std::shared_ptr<Table> open(const std::vector<nb::bytes>& given, int threads) {
  std::vector<std::string> paths;
  for (const nb::bytes& path : given) paths.emplace_back(path.c_str(), path.size());
  const nb::gil_scoped_release released;
  if (paths.size() == 1) return io::open_table(paths[0], io::CsvCells::typed, threads);
  return std::make_shared<FileList>(paths, threads);
}

}  // namespace
}  // namespace upsweep::python

NB_MODULE(_files, module) {
  using namespace upsweep::python;
  module.doc() = "What upsweep.query reads files with. Private: its names may change with any version.";
  define_errors(module);
  module.def("open", &open, nb::arg("paths"), nb::arg("threads"));
}
