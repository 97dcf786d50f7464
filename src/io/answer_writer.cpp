// SPDX-License-Identifier: Apache-2.0
// io/answer_writer.cpp: answers as rows of CSV, JSON and text, and as .npy.
#include "io/answer_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "core/decimal.hpp"
#include "io/npy_writer.hpp"
#include "io/posix.hpp"
#include "io/result_writer.hpp"
#include "io/text_rows.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

class TextAnswer final : public AnswerWriter {
 public:
  TextAnswer(const std::string& path, ResultFormat format, std::vector<Field> columns, CellText text)
      : rows_(path, format, std::move(columns), text) {}

  void write(const AnswerRows& rows) override {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows_.begin_row();
      for (const AnswerColumn& column : rows.columns) rows_.add(column[row]);
      rows_.end_row();
    }
  }
  void complete() override { rows_.complete(); }
  void close() override { rows_.close(); }
  void take_back() noexcept override { rows_.take_back(); }

 private:
  TextRows rows_;
};

[[noreturn]] void refuse_npy(const std::string& path, const std::string& why) {
  throw Error(Code::invalid_argument, fmt::format("{}: {}", path, why));
}

// The only column of a .npy file, which must be of a kind that .npy can store.
Field column_of_npy(const std::string& path, std::vector<Field>& columns) {
  constexpr std::string_view kOthers = "write .csv, .parquet, .arrow or .json";
  if (columns.size() != 1) {
    refuse_npy(path, fmt::format("a .npy file has one column, and the query has {}; select one of them, or {}",
                                 columns.size(), kOthers));
  }
  const ValueKind kind = columns[0].kind;
  if (kind == ValueKind::text || kind == ValueKind::decimal || kind == ValueKind::interval) {
    const bool is_decimal = kind == ValueKind::decimal;
    refuse_npy(path,
               fmt::format("a .npy file has no {}, as column '{}' is; {}{}",
                           is_decimal                ? "decimals"
                           : kind == ValueKind::text ? "text"
                                                     : "intervals",
                           printable(columns[0].name),
                           is_decimal ? "divide it by 1.0 in the query, which makes it float64, or " : "", kOthers));
  }
  return columns[0];
}

class NpyAnswer final : public AnswerWriter {
 public:
  NpyAnswer(std::string path, std::vector<Field> columns)
      : path_(std::move(path)), column_(column_of_npy(path_, columns)) {
    if (column_.kind != ValueKind::integer) open();
  }

  void write(const AnswerRows& rows) override {
    const AnswerColumn& column = rows.columns[0];
    const std::size_t n = column.size();
    if (n == 0) return;
    for (std::size_t row = 0; row < n; ++row) {
      if (!column.is_null(row)) continue;
      const std::int64_t number = written_ + static_cast<std::int64_t>(row);
      throw Error(Code::null_value,
                  fmt::format("{}: row {} is NULL, which .npy cannot store; write .csv, .parquet, .arrow or .json, or "
                              "leave out NULL by WHERE {} IS NOT NULL",
                              path_, number, printable(column_.name)),
                  number);
    }
    if (column_.kind == ValueKind::integer) {
      if (!writer_) {
        integers_ = type_of_integers(column_, column);
        if (integers_ == IntegerType::decimal) {
          throw Error(Code::overflow, fmt::format("{}: column '{}' has integers that do not fit 64 bits; write .csv, "
                                                  ".parquet, .arrow or .json",
                                                  path_, printable(column_.name)));
        }
        open(integers_ == IntegerType::uint64 ? Type::uint64 : Type::int64);
      }
      require_integers(path_, column_, column, integers_);
    }
    put(column, n);
    written_ += static_cast<std::int64_t>(n);
  }
  void complete() override {
    if (!writer_) open(Type::int64);  // there was no row
    writer_->complete();
  }
  void close() override {
    complete();
    writer_->close();
  }
  void take_back() noexcept override { writer_->take_back(); }

 private:
  // Opens a file for a column of any kind except integers.
  void open() {
    const auto with_unit = [&](char kind) { return fmt::format("<{}8[{}]", kind, unit_of(column_.scale)); };
    switch (column_.kind) {
      case ValueKind::real:
        return open(column_.storage == Storage::float32 ? Type::float32 : Type::float64);
      case ValueKind::boolean:
        return open(Type::uint8, "|b1");
      case ValueKind::date:
        return open(Type::int64, "<M8[D]");
      case ValueKind::timestamp:
        return open(Type::int64, with_unit('M'));
      case ValueKind::time:
      case ValueKind::duration:
        return open(Type::int64, with_unit('m'));
      case ValueKind::integer:
      case ValueKind::decimal:
      case ValueKind::interval:
      case ValueKind::text:
        break;
    }
    detail::no_such_value();
  }
  void open(Type type, std::string descr = {}) { writer_.emplace(path_, type, -1, std::move(descr)); }

  template <class To, class From>
  void put_as(const From& values) {
    std::vector<To> converted(values.size());
    std::transform(values.begin(), values.end(), converted.begin(), [](auto value) { return static_cast<To>(value); });
    writer_->write(converted.data(), std::ssize(converted));
  }
  void put(const AnswerColumn& column, std::size_t n) {
    const auto count = static_cast<std::int64_t>(n);
    if (column_.kind == ValueKind::real && column_.storage == Storage::float32) return put_as<float>(column.reals);
    if (column_.kind == ValueKind::real) return writer_->write(column.reals.data(), count);
    if (column_.kind == ValueKind::boolean) return put_as<std::uint8_t>(column.exact);
    if (column.wide.empty()) return writer_->write(column.exact.data(), count);
    put_as<std::uint64_t>(column.wide);
  }

  std::string path_;
  Field column_;
  std::optional<NpyWriter> writer_;
  IntegerType integers_ = IntegerType::int64;
  std::int64_t written_ = 0;
};

// The integers that a type holds.
std::pair<Int128, Int128> bounds_of(IntegerType type) {
  if (type == IntegerType::int64) {
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
  if (type == IntegerType::uint64) return {0, std::numeric_limits<std::uint64_t>::max()};
  const Int128 bound = power_of_ten<Int128>(38);
  return {-bound + 1, bound - 1};
}

bool are_integers_within(const AnswerColumn& rows, IntegerType type) {
  const auto [least, greatest] = bounds_of(type);
  const auto fits = [least = least, greatest = greatest](Int128 value) { return value >= least && value <= greatest; };
  if (!rows.wide.empty()) return std::ranges::all_of(rows.wide, fits);
  return type != IntegerType::uint64 || std::ranges::all_of(rows.exact, fits);
}

}  // namespace

IntegerType type_of_integers(const Field& column, const AnswerColumn& rows) {
  if (column.storage == Storage::uint64) return IntegerType::uint64;
  if (rows.wide.empty() || are_integers_within(rows, IntegerType::int64)) return IntegerType::int64;
  return are_integers_within(rows, IntegerType::uint64) ? IntegerType::uint64 : IntegerType::decimal;
}

void require_integers(const std::string& file, const Field& column, const AnswerColumn& rows, IntegerType type) {
  if (are_integers_within(rows, type)) return;
  constexpr std::string_view kTypes[] = {"int64, the type of the first rows", "uint64, the type of the first rows",
                                         "38 digits"};
  throw Error(Code::overflow, fmt::format("{}: column '{}' has an integer that does not fit {}; write .csv or .json",
                                          file, printable(column.name), kTypes[static_cast<int>(type)]));
}

std::string_view unit_of(int scale) { return scale == 0 ? "s" : scale == 3 ? "ms" : scale == 6 ? "us" : "ns"; }

std::unique_ptr<AnswerWriter> open_answer(const std::string& path, ResultFormat format, std::vector<Field> columns,
                                          CellText text) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (Field& column : columns) names.push_back(column.name = distinct_name(column.name, names));
  switch (format) {
    case ResultFormat::npy:
      return std::make_unique<NpyAnswer>(path, std::move(columns));
    case ResultFormat::parquet:
    case ResultFormat::arrow:
      return open_arrow_answer(path, format, std::move(columns));
    default:
      return std::make_unique<TextAnswer>(path, format, std::move(columns), text);
  }
}

}  // namespace upsweep::io
