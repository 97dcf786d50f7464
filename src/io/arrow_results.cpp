// SPDX-License-Identifier: Apache-2.0
// io/arrow_results.cpp: results written as Parquet and Arrow IPC files, through Arrow.
#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/visit.hpp"
#include "io/arrow_elements.hpp"
#include "io/arrow_file.hpp"
#include "io/result_writer.hpp"
#include "io/table.hpp"
#include "io/tuning.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();  // limit of a batch's 32-bit offsets
constexpr std::int64_t kLeastDecimal = -999'999'999'999'999'999;                  // of kInt64Digits
constexpr std::int64_t kGreatestDecimal = -kLeastDecimal;

// Converts the results of a column to Arrow's elements.
class Elements {
 public:
  Elements(ResultColumn column, std::string file)
      : column_(std::move(column)),
        file_(std::move(file)),
        type_(stored_type(field_of(column_.type, column_.meaning, column_.scale, column_.zone))) {}

  [[nodiscard]] const std::shared_ptr<arrow::DataType>& type() const { return type_; }
  [[nodiscard]] const std::string& name() const { return column_.name; }

  // Converts n elements from element `first` on. That element is number `row` of all results.
  [[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> make(const ResultArray& array, std::int64_t first,
                                                                  std::int64_t n, std::int64_t row) const {
    const auto* const from = static_cast<const std::byte*>(array.elements) + first * size_of(column_.type);
    const auto is_valid = [&](std::int64_t i) {
      return (!array.valid.is_given() || array.valid[first + i]) && !has_no_value(from, i);
    };
    if (column_.meaning == Meaning::decimal) {
      return convert<std::int64_t, arrow::Decimal128>(from, n, row, kLeastDecimal, kGreatestDecimal, is_valid);
    }
    if (column_.type == Type::int64 && (column_.meaning == Meaning::date || type_->id() == arrow::Type::TIME32)) {
      using Limits = std::numeric_limits<std::int32_t>;
      return convert<std::int64_t, std::int32_t>(from, n, row, Limits::min(), Limits::max(), is_valid);
    }
    std::shared_ptr<arrow::Buffer> values = view(from, n * size_of(column_.type));
    if (column_.meaning == Meaning::boolean) {
      std::int64_t zeros = 0;
      ARROW_ASSIGN_OR_RAISE(values, bitmap_of(n, zeros, [&](std::int64_t i) { return from[i] != std::byte{0}; }));
    }
    if (!array.valid.is_given() && !column_.no_value) return made(n, std::move(values), nullptr, 0);
    std::int64_t nulls = 0;
    ARROW_ASSIGN_OR_RAISE(auto valid, bitmap_of(n, nulls, is_valid));
    return made(n, std::move(values), std::move(valid), nulls);
  }

 private:
  [[nodiscard]] bool has_no_value(const std::byte* from, std::int64_t i) const {
    if (!column_.no_value) return false;
    return visit_type(column_.type, [&]<class T>(std::type_identity<T>) {
      return std::cmp_equal(static_cast<std::int64_t>(reinterpret_cast<const T*>(from)[i]), *column_.no_value);
    });
  }

  [[nodiscard]] std::shared_ptr<arrow::Array> made(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                                   std::shared_ptr<arrow::Buffer> valid, std::int64_t nulls) const {
    return arrow::MakeArray(
        arrow::ArrayData::Make(type_, n, {nulls > 0 ? std::move(valid) : nullptr, std::move(values)}, nulls));
  }

  template <class From, class To, class IsValid>
  [[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> convert(const std::byte* from, std::int64_t n,
                                                                     std::int64_t row, From least, From greatest,
                                                                     IsValid is_valid) const {
    const auto* const elements = reinterpret_cast<const From*>(from);
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(To));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values, arrow::AllocateBuffer(n * kSize));
    for (std::int64_t i = 0; i < n; ++i) {
      const bool is_given = is_valid(i);
      if (is_given && (elements[i] < least || elements[i] > greatest)) throw_misfit(column_, file_, row + i);
      const To value(static_cast<To>(is_given ? elements[i] : From{0}));
      std::memcpy(values->mutable_data() + i * kSize, &value, sizeof value);
    }
    std::int64_t nulls = 0;
    ARROW_ASSIGN_OR_RAISE(auto valid, bitmap_of(n, nulls, is_valid));
    return made(n, std::move(values), std::move(valid), nulls);
  }

  ResultColumn column_;
  std::string file_;
  std::shared_ptr<arrow::DataType> type_;
};

class ArrowResults final : public ResultWriter {
 public:
  ArrowResults(const std::string& path, ResultFormat format, Shape shape, std::vector<ResultColumn> columns)
      : file_(path), files_{path} {
    arrow::FieldVector fields;
    for (ResultColumn& column : columns) {
      columns_.emplace_back(std::move(column), file_.name());
      const auto& type = columns_.back().type();
      fields.push_back(arrow::field(columns_.back().name(), shape == Shape::lists ? arrow::list(type) : type));
    }
    file_.open(format, arrow::schema(std::move(fields)));
  }

  void write(std::span<const ResultArray> columns, std::int64_t rows) override {
    for (std::int64_t first = 0; first < rows; first += tuning::kBinary.arrow_rows) {
      const std::int64_t n = std::min(tuning::kBinary.arrow_rows, rows - first);
      arrow::ArrayVector arrays;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        arrays.push_back(file_.put([&] { return columns_[i].make(columns[i], first, n, written_); }));
      }
      file_.write(n, std::move(arrays));
      written_ += n;
    }
  }

  void write_lists(std::span<const std::int64_t> offsets, std::span<const ResultArray> columns) override {
    const std::int64_t lists = std::ssize(offsets) - 1;
    for (std::int64_t first = 0, end = 0; first < lists; first = end) {
      end = end_of_batch(offsets, first);
      write_lists(offsets.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first + 1)), first,
                  columns);
    }
  }

  void complete() override { file_.complete(); }
  void close() override { file_.close(); }
  void take_back() noexcept override { file_.take_back(); }
  [[nodiscard]] const std::vector<std::string>& files() const override { return files_; }

 private:
  // Returns the end of the lists, from `first` on, whose elements 32-bit offsets can count.
  [[nodiscard]] std::int64_t end_of_batch(std::span<const std::int64_t> offsets, std::int64_t first) const {
    const auto at = [&](std::int64_t i) { return offsets.begin() + i; };
    const std::int64_t most = std::min(first + tuning::kBinary.arrow_rows, std::ssize(offsets) - 1);
    const auto past = std::upper_bound(at(first), at(most) + 1, *at(first) + kMostElements);
    const std::int64_t end = past - offsets.begin() - 1;
    if (end > first) return end;
    throw Error(Code::overflow,
                fmt::format("{}: list {} has {} elements, more than an Arrow list can have; write .npy", file_.name(),
                            written_, offsets[static_cast<std::size_t>(first) + 1] - *at(first)),
                written_);
  }

  // Writes lists from number `first` of the call on.
  void write_lists(std::span<const std::int64_t> offsets, std::int64_t first, std::span<const ResultArray> columns) {
    const std::int64_t lists = std::ssize(offsets) - 1;
    const std::int64_t elements = offsets.back() - offsets.front();
    std::vector<std::int32_t> narrow(offsets.size());
    std::transform(offsets.begin(), offsets.end(), narrow.begin(),
                   [&](std::int64_t offset) { return static_cast<std::int32_t>(offset - offsets.front()); });
    const auto bounds = view(narrow.data(), std::ssize(narrow) * std::int64_t{sizeof(std::int32_t)});
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::shared_ptr<arrow::Buffer> validity;
      std::int64_t nulls = 0;
      if (const Mask& valid = columns[i].valid_lists; valid.is_given()) {
        validity =
            file_.put([&] { return bitmap_of(lists, nulls, [&](std::int64_t list) { return valid[first + list]; }); });
      }
      const auto content =
          file_.put([&] { return columns_[i].make(columns[i], offsets.front(), elements, elements_); });
      const auto type = file_.schema().field(static_cast<int>(i))->type();
      arrays.push_back(arrow::MakeArray(arrow::ArrayData::Make(
          type, lists, arrow::BufferVector{nulls > 0 ? validity : nullptr, bounds}, {content->data()}, nulls)));
    }
    file_.write(lists, std::move(arrays));
    written_ += lists;
    elements_ += elements;
  }

  ArrowFile file_;
  std::vector<std::string> files_;
  std::vector<Elements> columns_;
  std::int64_t written_ = 0;   // rows
  std::int64_t elements_ = 0;  // of lists
};

}  // namespace

std::unique_ptr<ResultWriter> open_arrow_results(const std::string& path, ResultFormat format, Shape shape,
                                                 std::vector<ResultColumn> columns) {
  return std::make_unique<ArrowResults>(path, format, shape, std::move(columns));
}

}  // namespace upsweep::io
