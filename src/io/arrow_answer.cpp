// SPDX-License-Identifier: Apache-2.0
// io/arrow_answer.cpp: answers written as Parquet and Arrow IPC files. Numbers and letters are used in place.
#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "io/answer_writer.hpp"
#include "io/arrow_elements.hpp"
#include "io/arrow_file.hpp"
#include "io/posix.hpp"
#include "io/tuning.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

using AnswerBuffer = arrow::Result<std::shared_ptr<arrow::Buffer>>;

constexpr int kDigits = 38;
constexpr std::int64_t kMostLetters = std::numeric_limits<std::int32_t>::max();  // of a batch with 32-bit offsets

std::shared_ptr<arrow::DataType> answer_type(const Field& column, IntegerType integers) {
  switch (column.kind) {
    case ValueKind::integer:
      if (integers == IntegerType::decimal) return arrow::decimal128(kDigits, 0);
      return integers == IntegerType::uint64 ? arrow::uint64() : arrow::int64();
    case ValueKind::decimal:
      return arrow::decimal128(kDigits, column.scale);
    default:
      return stored_type(column);
  }
}

// Rows `first` … first + count - 1 of an answer's chunk.
struct AnswerRange {
  std::size_t first;
  std::size_t count;
};

// Copies values, converted.
template <class To>
AnswerBuffer converted_values(const auto& values, AnswerRange range) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                        arrow::AllocateBuffer(static_cast<std::int64_t>(range.count * sizeof(To))));
  auto* to = buffer->mutable_data();
  for (std::size_t i = range.first; i < range.first + range.count; ++i, to += sizeof(To)) {
    const To value = static_cast<To>(values[i]);
    std::memcpy(to, &value, sizeof value);
  }
  return buffer;
}

template <class T>
AnswerBuffer values_in_place(const T* values, AnswerRange range) {
  return view(values + range.first, static_cast<std::int64_t>(range.count * sizeof(T)));
}

template <class To>
AnswerBuffer exact(const AnswerColumn& column, AnswerRange range) {
  return column.wide.empty() ? converted_values<To>(column.exact, range) : converted_values<To>(column.wide, range);
}

class ArrowAnswer final : public AnswerWriter {
 public:
  ArrowAnswer(const std::string& path, ResultFormat format, std::vector<Field> columns)
      : file_(path), format_(format), columns_(std::move(columns)), integers_(columns_.size(), IntegerType::int64) {}

  void write(const AnswerRows& rows) override {
    if (rows.empty()) return;
    if (!is_open_) open(rows);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const AnswerColumn& column = rows.columns[i];
      if (columns_[i].kind == ValueKind::integer) require_integers(file_.name(), columns_[i], column, integers_[i]);
      if (columns_[i].kind == ValueKind::decimal)
        require_integers(file_.name(), columns_[i], column, IntegerType::decimal);
    }
    for (std::size_t first = 0; first < rows.size();) {
      const AnswerRange range{first, count_of_batch(rows, first)};
      arrow::ArrayVector arrays;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        arrays.push_back(file_.put([&] { return array_of(i, rows.columns[i], range); }));
      }
      file_.write(static_cast<std::int64_t>(range.count), std::move(arrays));
      first += range.count;
    }
  }
  void complete() override {
    if (!is_open_) open({});
    file_.complete();
  }
  void close() override {
    complete();
    file_.close();
  }
  void take_back() noexcept override { file_.take_back(); }

 private:
  // The first rows determine the types of integers.
  void open(const AnswerRows& rows) {
    is_open_ = true;
    arrow::FieldVector fields;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool any = columns_[i].kind == ValueKind::integer && !rows.empty();
      if (any) integers_[i] = type_of_integers(columns_[i], rows.columns[i]);
      fields.push_back(arrow::field(columns_[i].name, answer_type(columns_[i], integers_[i])));
    }
    file_.open(format_, arrow::schema(std::move(fields)));
  }

  // Returns how many rows from `first` on are a batch, in which 32-bit offsets can count the letters of each column.
  [[nodiscard]] std::size_t count_of_batch(const AnswerRows& rows, std::size_t first) const {
    std::size_t count = std::min(rows.size() - first, static_cast<std::size_t>(tuning::kBinary.arrow_rows));
    for (const AnswerColumn& column : rows.columns) {
      if (column.kind != ValueKind::text) continue;
      const std::int64_t before = first == 0 ? 0 : column.ends[first - 1];
      const auto begin = column.ends.begin() + static_cast<std::ptrdiff_t>(first);
      const auto past = std::upper_bound(begin, begin + static_cast<std::ptrdiff_t>(count), before + kMostLetters);
      count = static_cast<std::size_t>(past - begin);
    }
    if (count > 0) return count;
    throw Error(Code::overflow,
                fmt::format("{}: a text of row {} has more than 2 GiB; write .csv or .json", file_.name(), first));
  }

  [[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> array_of(std::size_t which, const AnswerColumn& column,
                                                                      AnswerRange range) const {
    const auto n = static_cast<std::int64_t>(range.count);
    std::shared_ptr<arrow::Buffer> validity;
    std::int64_t nulls = 0;
    if (!column.nulls.empty()) {
      ARROW_ASSIGN_OR_RAISE(validity, bitmap_of(n, nulls, [&](std::int64_t i) {
                              return !column.is_null(range.first + static_cast<std::size_t>(i));
                            }));
      if (nulls == 0) validity = nullptr;
    }
    const auto& type = file_.schema().field(static_cast<int>(which))->type();
    if (column.kind == ValueKind::text) {
      const std::int64_t before = range.first == 0 ? 0 : column.ends[range.first - 1];
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets,
                            arrow::AllocateBuffer((n + 1) * std::int64_t{sizeof(std::int32_t)}));
      auto* const to = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
      to[0] = 0;
      for (std::size_t i = 0; i < range.count; ++i) {
        to[i + 1] = static_cast<std::int32_t>(column.ends[range.first + i] - before);
      }
      const auto letters = view(column.letters.data() + before, to[range.count]);
      return arrow::MakeArray(arrow::ArrayData::Make(type, n, {validity, offsets, letters}, nulls));
    }
    ARROW_ASSIGN_OR_RAISE(auto values, values_of(which, column, range));
    return arrow::MakeArray(arrow::ArrayData::Make(type, n, {validity, std::move(values)}, nulls));
  }

  [[nodiscard]] AnswerBuffer values_of(std::size_t which, const AnswerColumn& column, AnswerRange range) const {
    const Field& field = columns_[which];
    switch (field.kind) {
      case ValueKind::integer:
        if (integers_[which] == IntegerType::decimal) return exact<Int128>(column, range);
        if (column.wide.empty()) return values_in_place(column.exact.data(), range);
        return exact<std::uint64_t>(column, range);
      case ValueKind::decimal:
        if (column.wide.empty()) return exact<Int128>(column, range);
        return values_in_place(column.wide.data(), range);
      case ValueKind::real:
        if (field.storage == Storage::float32) return converted_values<float>(column.reals, range);
        return values_in_place(column.reals.data(), range);
      case ValueKind::date:
        return exact<std::int32_t>(column, range);
      case ValueKind::boolean: {
        std::int64_t zeros = 0;
        return bitmap_of(static_cast<std::int64_t>(range.count), zeros, [&](std::int64_t i) {
          return column.exact_at(range.first + static_cast<std::size_t>(i)) != 0;
        });
      }
      case ValueKind::time:
        if (field.scale <= 3) return exact<std::int32_t>(column, range);
        return exact<std::int64_t>(column, range);
      case ValueKind::timestamp:
      case ValueKind::duration:
        return exact<std::int64_t>(column, range);
      case ValueKind::interval:
        return intervals_of(static_cast<std::int64_t>(range.count),
                            [&](std::int64_t i) { return column.exact_at(range.first + static_cast<std::size_t>(i)); });
      case ValueKind::text:
        break;
    }
    detail::no_such_value();
  }

  ArrowFile file_;
  ResultFormat format_;
  std::vector<Field> columns_;
  std::vector<IntegerType> integers_;
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<AnswerWriter> open_arrow_answer(const std::string& path, ResultFormat format,
                                                std::vector<Field> columns) {
  for (const Field& column : columns) {
    if (format != ResultFormat::parquet || column.kind != ValueKind::interval) continue;
    throw Error(Code::invalid_argument,
                fmt::format("{}: Arrow writes no intervals to Parquet, as column '{}' is; write "
                            ".arrow, .csv or .json",
                            path, printable(column.name)));
  }
  return std::make_unique<ArrowAnswer>(path, format, std::move(columns));
}

}  // namespace upsweep::io
