// SPDX-License-Identifier: Apache-2.0
// io/result_writer.cpp: writes results to .npy files, one for each array, as rows of text, or by the writer of Parquet
// and Arrow IPC.
#include "io/result_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/visit.hpp"
#include "io/npy_writer.hpp"
#include "io/source.hpp"
#include "io/text_rows.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

class NpyResults final : public ResultWriter {
 public:
  NpyResults(const std::string& path, Shape shape, const std::vector<ResultColumn>& columns, std::int64_t rows) {
    const bool is_one = shape == Shape::values && columns.size() == 1;
    if (!is_one && path == "-") {
      throw Error(
          Code::invalid_argument,
          "-o - --format npy writes one array, but there are several; name a file, or write them as a table: csv, "
          "json or text");
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
                fmt::format("{}: {} NULL, which .npy cannot store; write {}, or fill missing values first", file, what,
                            ".csv, .parquet, .arrow or .json"),
                index);
  }

  std::vector<std::unique_ptr<NpyWriter>> writers_;  // for lists, the offsets' writer is the first
  std::vector<std::string> files_;
  std::vector<std::int64_t> sizes_;  // of the elements of each column
  std::size_t named_ = 0;            // writers that are closed
  std::int64_t rows_ = 0;            // that were written
  std::int64_t elements_ = 0;        // of their lists
};

// Results as rows of CSV, JSON or text.
class TextResults final : public ResultWriter {
 public:
  TextResults(const std::string& path, ResultFormat format, std::vector<ResultColumn> columns, CellText text)
      : columns_(std::move(columns)), rows_(path, format, fields_of(columns_), text), files_{path} {}

  void write(std::span<const ResultArray> columns, std::int64_t rows) override {
    for (std::int64_t row = 0; row < rows; ++row) {
      rows_.begin_row();
      for (std::size_t i = 0; i < columns.size(); ++i) rows_.add(cell(i, columns[i], row, written_));
      rows_.end_row();
      ++written_;
    }
  }

  void write_lists(std::span<const std::int64_t> offsets, std::span<const ResultArray> columns) override {
    const std::int64_t first = offsets.front();
    for (std::size_t list = 0; list + 1 < offsets.size(); ++list) {
      rows_.begin_row();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const Mask& valid = columns[i].valid_lists;
        if (valid.is_given() && !valid[static_cast<std::int64_t>(list)]) {
          rows_.add({.null = true});
          continue;
        }
        rows_.begin_list();
        for (std::int64_t e = offsets[list]; e < offsets[list + 1]; ++e) {
          rows_.add_element(cell(i, columns[i], e, elements_ + e - first));
        }
        rows_.end_list();
      }
      rows_.end_row();
    }
    elements_ += offsets.back() - first;
  }

  void complete() override { rows_.complete(); }
  void close() override { rows_.close(); }
  void take_back() noexcept override { rows_.take_back(); }
  [[nodiscard]] const std::vector<std::string>& files() const override { return files_; }

 private:
  static std::vector<Field> fields_of(const std::vector<ResultColumn>& columns) {
    std::vector<Field> fields;
    for (const ResultColumn& column : columns) {
      fields.push_back(field_of(column.type, column.meaning, column.scale, column.zone));
      fields.back().name = column.name;
    }
    return fields;
  }

  // Returns element `i` of an array. It is number `number` of all elements.
  [[nodiscard]] Cell cell(std::size_t which, const ResultArray& array, std::int64_t i, std::int64_t number) const {
    const ResultColumn& column = columns_[which];
    Cell cell{.null = array.valid.is_given() && !array.valid[i]};
    if (cell.null) return cell;
    visit_type(column.type, [&]<class T>(std::type_identity<T>) {
      const T value = static_cast<const T*>(array.elements)[i];
      if constexpr (std::is_floating_point_v<T>) {
        cell.real = value;
      } else {
        cell.exact = value;
      }
    });
    if (column.no_value == cell.exact) return {.null = true};
    const bool is_decimal = column.meaning == Meaning::decimal;
    if (!is_decimal && column.meaning != Meaning::date) return cell;
    constexpr Int128 kGreatestDecimal = 999'999'999'999'999'999;  // of 18 digits
    const Int128 greatest = is_decimal ? kGreatestDecimal : Int128{std::numeric_limits<std::int32_t>::max()};
    const Int128 least = is_decimal ? -kGreatestDecimal : Int128{std::numeric_limits<std::int32_t>::min()};
    if (cell.exact >= least && cell.exact <= greatest) return cell;
    if (!is_decimal) throw_misfit(column, files_.front(), number);
    return cell;  // text has decimals of any number of digits
  }

  std::vector<ResultColumn> columns_;
  TextRows rows_;
  std::vector<std::string> files_;
  std::int64_t written_ = 0;   // rows
  std::int64_t elements_ = 0;  // of lists
};

void make_distinct(std::vector<ResultColumn>& columns) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (ResultColumn& column : columns) names.push_back(column.name = distinct_name(column.name, names));
}

}  // namespace

std::optional<ResultFormat> format_of_name(std::string_view path) {
  constexpr std::pair<std::string_view, ResultFormat> kEndings[] = {{".csv", ResultFormat::csv},
                                                                    {".parquet", ResultFormat::parquet},
                                                                    {".arrow", ResultFormat::arrow},
                                                                    {".json", ResultFormat::json},
                                                                    {".npy", ResultFormat::npy}};
  for (const auto& [ending, format] : kEndings) {
    if (ends_in(path, ending)) return format;
  }
  return std::nullopt;
}

ResultFormat format_of_results(const std::string& path, ResultFormat other) {
  if (path == "-" || path.ends_with('/')) return other;
  if (const auto format = format_of_name(path)) return *format;
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none)) return other;
  throw Error(
      Code::invalid_argument,
      fmt::format("{}: the name of an output file must end in {}, which is its format; name it {}, for instance", path,
                  kResultNames, path + ".csv"));
}

std::string distinct_name(const std::string& name, std::span<const std::string> taken) {
  std::string distinct = name;
  for (int number = 2; std::ranges::find(taken, distinct) != taken.end(); ++number) {
    distinct = fmt::format("{}_{}", name, number);
  }
  return distinct;
}

void throw_misfit(const ResultColumn& column, const std::string& file, std::int64_t row) {
  throw Error(Code::overflow,
              column.meaning == Meaning::date
                  ? fmt::format("{}: value {} is not a date; write .npy, which stores it as a number", file, row)
                  : fmt::format("{}: value {} has more than 18 digits; choose --dtype float64, or write .npy, which "
                                "stores it as an integer",
                                file, row),
              row);
}

std::unique_ptr<ResultWriter> open_results(const std::string& path, ResultFormat format, Shape shape,
                                           std::vector<ResultColumn> columns, CellText text, std::int64_t rows) {
  if (format == ResultFormat::npy) return std::make_unique<NpyResults>(path, shape, columns, rows);
  make_distinct(columns);
  if (format == ResultFormat::parquet || format == ResultFormat::arrow) {
    return open_arrow_results(path, format, shape, std::move(columns));
  }
  return std::make_unique<TextResults>(path, format, std::move(columns), text);
}

std::string npy_descr(const ResultColumn& column) {
  constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};
  if (column.meaning == Meaning::boolean) return "|b1";
  const bool is_of_numpy = column.meaning == Meaning::timestamp || column.meaning == Meaning::duration;
  if (!is_of_numpy || column.type != Type::int64) return npy_descr(column.type);
  return fmt::format("<{}8[{}]", column.meaning == Meaning::timestamp ? 'M' : 'm', kUnits[column.scale / 3]);
}

}  // namespace upsweep::io
