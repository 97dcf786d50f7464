// SPDX-License-Identifier: Apache-2.0
// io/result_writer.cpp: writes results to .npy files, one for each array, or to the writer of Parquet and Arrow IPC.
#include "io/result_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "io/npy_writer.hpp"
#include "io/source.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

class NpyResults final : public ResultWriter {
 public:
  NpyResults(const std::string& path, Shape shape, const std::vector<ResultColumn>& columns, std::int64_t rows) {
    const bool is_one = shape == Shape::values && columns.size() == 1;
    if (!is_one && path == "-") {
      throw Error(Code::invalid_argument,
                  "-o - writes one array, but there are several; name a file, .parquet or .arrow for a table of them");
    }
    if (std::error_code none;
        !is_one && std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path)) {
      throw Error(Code::unwritable,
                  fmt::format("{}: is not a regular file, but several files with this prefix are written", path));
    }
    const std::string stem = ends_in(path, ".npy") ? path.substr(0, path.size() - 4) : path;
    if (shape == Shape::lists) {
      open(stem + ".offsets.npy", {}, -1);
      constexpr std::int64_t kZero = 0;
      writers_[0]->write(&kZero, 1);
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::int64_t count = shape == Shape::lists ? -1 : rows;
      open(is_one ? path : fmt::format("{}.{}.npy", stem, i), columns[i], count);
      sizes_.push_back(size_of(columns[i].type));
    }
  }

  void write(std::span<const ResultArray> columns, std::int64_t rows) override {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (const std::int64_t null = first_null(columns[i].valid, 0, rows); null < rows) {
        throw_null(files_[i], fmt::format("element {} is", rows_ + null), rows_ + null);
      }
      writers_[i]->write(columns[i].elements, rows);
    }
    rows_ += rows;
  }

  void write_lists(std::span<const std::int64_t> offsets, std::span<const ResultArray> columns) override {
    const std::int64_t first = offsets.front();
    std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
    for (std::int64_t& stop : stops) stop += elements_ - first;
    writers_[0]->write(stops.data(), std::ssize(stops));
    const std::int64_t n = offsets.back() - first;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (const std::int64_t null = first_null(columns[i].valid, first, offsets.back()); null < offsets.back()) {
        const auto past = std::upper_bound(offsets.begin(), offsets.end(), null);
        const std::int64_t list = rows_ + (past - offsets.begin() - 1);
        throw_null(files_[i + 1], fmt::format("list {} has an element that is", list), list);
      }
      writers_[i + 1]->write(static_cast<const std::byte*>(columns[i].elements) + first * sizes_[i], n);
    }
    elements_ += n;
    rows_ += std::ssize(offsets) - 1;
  }

  void complete() override {
    for (const auto& writer : writers_) writer->complete();
  }
  void close() override {
    complete();
    try {
      for (; named_ < writers_.size(); ++named_) writers_[named_]->close();
    } catch (...) {
      take_back();
      throw;
    }
  }
  void take_back() noexcept override {
    while (named_ > 0) writers_[--named_]->take_back();
  }
  [[nodiscard]] const std::vector<std::string>& files() const override { return files_; }

 private:
  void open(const std::string& file, const ResultColumn& column, std::int64_t count) {
    writers_.push_back(std::make_unique<NpyWriter>(file, column.type, count, npy_descr(column)));
    files_.push_back(file);
  }
  // Returns the first NULL of elements first … end - 1, or `end`.
  static std::int64_t first_null(const Mask& valid, std::int64_t first, std::int64_t end) {
    if (!valid.is_given()) return end;
    while (first < end && valid[first]) ++first;
    return first;
  }
  [[noreturn]] static void throw_null(const std::string& file, const std::string& what, std::int64_t index) {
    throw Error(Code::null_value,
                fmt::format("{}: {} NULL, which .npy cannot store; write .parquet or .arrow, or fill missing values "
                            "first",
                            file, what),
                index);
  }

  std::vector<std::unique_ptr<NpyWriter>> writers_;  // for lists, the offsets' writer is the first
  std::vector<std::string> files_;
  std::vector<std::int64_t> sizes_;  // of the elements of each column
  std::size_t named_ = 0;            // writers that are closed
  std::int64_t rows_ = 0;            // that were written
  std::int64_t elements_ = 0;        // of their lists
};

// Makes names distinct, as tables require.
void make_distinct(std::vector<ResultColumn>& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string given = columns[i].name;
    const auto is_taken = [&] {
      for (std::size_t j = 0; j < i; ++j) {
        if (columns[j].name == columns[i].name) return true;
      }
      return false;
    };
    for (int number = 2; is_taken(); ++number) columns[i].name = fmt::format("{}_{}", given, number);
  }
}

}  // namespace

bool is_arrow_name(const std::string& path) { return ends_in(path, ".parquet") || ends_in(path, ".arrow"); }

void require_result_name(const std::string& path) {
  std::error_code none;
  if (path == "-" || path.ends_with('/') || ends_in(path, ".npy") || is_arrow_name(path)) return;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none)) return;
  throw Error(Code::invalid_argument,
              fmt::format("{}: the name of an output file must end in .npy, .parquet or .arrow, which is its format; "
                          "name it {}, for instance",
                          path, path + ".npy"));
}

std::unique_ptr<ResultWriter> open_results(const std::string& path, Shape shape, std::vector<ResultColumn> columns,
                                           std::int64_t rows) {
  if (!is_arrow_name(path)) return std::make_unique<NpyResults>(path, shape, columns, rows);
  make_distinct(columns);
  return open_arrow_results(path, shape, std::move(columns));
}

std::string npy_descr(const ResultColumn& column) {
  constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};
  if (column.meaning == Meaning::boolean) return "|b1";
  const bool is_of_numpy = column.meaning == Meaning::timestamp || column.meaning == Meaning::duration;
  if (!is_of_numpy || column.type != Type::int64) return npy_descr(column.type);
  return fmt::format("<{}8[{}]", column.meaning == Meaning::timestamp ? 'M' : 'm', kUnits[column.scale / 3]);
}

}  // namespace upsweep::io
