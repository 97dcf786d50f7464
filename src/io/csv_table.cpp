// SPDX-License-Identifier: Apache-2.0
// io/csv_table.cpp: a CSV file as a table of one part; its columns have the types that its first block has, or are text;
// those with a point anywhere are decimals.
#include <arrow/record_batch.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <utility>

#include "io/arrow_batches.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_table.hpp"
#include "io/csv_decimals.hpp"
#include "io/csv_input.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

// The column that a failure is about, if any: Arrow names it by its number in the message only.
const arrow::Field* column_of(const arrow::Status& status, const arrow::FieldVector& fields) {
  constexpr std::string_view kColumn = "CSV column #";
  const std::string& text = status.message();
  const std::size_t at = text.find(kColumn);
  std::size_t column = fields.size();
  if (at != std::string::npos) std::from_chars(text.data() + at + kColumn.size(), text.data() + text.size(), column);
  return column < fields.size() ? fields[column].get() : nullptr;
}

class CsvTable final : public ArrowTable {
 public:
  CsvTable(const std::string& path, CsvCells cells, const ChooseColumn& choose) : ArrowTable(path), cells_(cells) {
    require_commas(path_);
    auto reader = start_csv(path_, {});
    if (!reader.ok()) throw_csv(path_, reader.status(), Code::malformed, "correct the row");
    columns_ = (*reader)->schema()->fields();
    fields_ = fields_of(*(*reader)->schema());
    if (has_one_column()) reader = start_csv(path_, {}, true);
    // What is wrong with the first rows is reported before what their types are not good for.
    const arrow::Status first = reader.ok() ? (*reader)->Next().status() : reader.status();
    if (!first.ok()) throw_csv(path_, first, Code::malformed, "correct the row");
    std::vector<int> wanted(columns_.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    if (choose) wanted = {choose(fields_)};
    set_types(wanted, choose ? kInt64Digits : arrow::Decimal128Type::kMaxPrecision, static_cast<bool>(choose));
    fields_ = fields_of(*arrow::schema(columns_));
  }

  [[nodiscard]] std::unique_ptr<BatchReader> open(int part, const std::vector<int>& columns) const override {
    arrow::FieldVector wanted;
    for (const int column : Selection(columns).columns) wanted.push_back(columns_[static_cast<std::size_t>(column)]);
    if (wanted.empty()) wanted.push_back(columns_[0]);  // for its rows
    auto source = [path = path_, fields = columns_, wanted, one = has_one_column(), cells = cells_,
                   reader = std::shared_ptr<CsvReader>(), row = std::int64_t{0}]() mutable -> NextBatch {
      if (!reader) {
        auto started = start_csv(path, as_read(wanted), one, cells);
        if (!started.ok()) refuse(started.status(), path, fields);
        reader = *started;
      }
      auto batch = reader->Next();
      if (!batch.ok()) refuse(batch.status(), path, fields);
      if (!*batch) return batch;
      row += (*batch)->num_rows();
      return with_decimals(**batch, path, wanted, row - (*batch)->num_rows());
    };
    return read(part, columns, std::move(source));
  }

 private:
  [[nodiscard]] bool has_one_column() const { return columns_.size() == 1; }

  // Of what Arrow sees in the first block, what is computed with; the rest is text, or refused where numbers are wanted.
  // Without a value it is int64.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type_of_column(const arrow::Field& field, bool numbers) const {
    if (cells_ == CsvCells::text) return arrow::utf8();
    const arrow::Type::type seen = field.type()->id();
    if (seen == arrow::Type::INT64 || seen == arrow::Type::NA) return arrow::int64();
    if (seen == arrow::Type::DATE32 || (seen == arrow::Type::BOOL && !numbers)) return field.type();
    if (seen == arrow::Type::DOUBLE)
      return try_type(field.name(), arrow::uint64()).ok() ? arrow::uint64() : field.type();
    if (!numbers) return arrow::dictionary(arrow::int32(), arrow::utf8());
    const arrow::Status failure = try_type(field.name(), arrow::float64());
    if (failure.ok()) return arrow::float64();
    if (!is_conversion(failure)) throw_csv(path_, failure, Code::malformed, "correct the row");
    throw_csv(full_name(path_, field.name()), failure, Code::unsupported_type,
              "upsweep computes with numbers, and dates written 2001-12-31");
  }

  // Opening reads and converts the first block. Arrow takes integers past the signed ones for floats.
  [[nodiscard]] arrow::Status try_type(const std::string& column, const std::shared_ptr<arrow::DataType>& type) const {
    return start_csv(path_, {arrow::field(column, type)}, has_one_column()).status();
  }

  // What the first block has of numbers, if any, does not show whether they are decimals, and of which scale.
  void set_types(const std::vector<int>& wanted, int most_digits, bool numbers) {
    std::vector<int> numeric;
    for (const int i : wanted) {
      auto& column = columns_[static_cast<std::size_t>(i)];
      column = arrow::field(column->name(), type_of_column(*column, numbers));
      const arrow::Type::type id = column->type()->id();
      if (arrow::is_integer(id) || arrow::is_floating(id)) numeric.push_back(i);
    }
    const auto types = find_decimals(path_, numeric, most_digits);
    for (std::size_t i = 0; i < types.size(); ++i) {
      auto& column = columns_[static_cast<std::size_t>(numeric[i])];
      if (types[i]) column = arrow::field(column->name(), types[i]);
    }
  }

  // Decimals are read as text, and made of it by with_decimals().
  static arrow::FieldVector as_read(arrow::FieldVector fields) {
    for (auto& field : fields) {
      if (arrow::is_decimal(field->type()->id())) field = field->WithType(arrow::utf8());
    }
    return fields;
  }

  static arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_decimals(const arrow::RecordBatch& batch,
                                                                          const std::string& path,
                                                                          const arrow::FieldVector& fields,
                                                                          std::int64_t first_row) {
    auto columns = batch.columns();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!arrow::is_decimal(fields[i]->type()->id())) continue;
      const std::string name = full_name(path, fields[i]->name());
      ARROW_ASSIGN_OR_RAISE(columns[i], decimals_of(*columns[i], fields[i]->type(), name, first_row));
    }
    return arrow::RecordBatch::Make(arrow::schema(fields), batch.num_rows(), std::move(columns));
  }

  [[noreturn]] static void refuse(const arrow::Status& status, const std::string& path,
                                  const arrow::FieldVector& fields) {
    const arrow::Field* const column = column_of(status, fields);
    throw_csv(column != nullptr ? full_name(path, column->name()) : path, status, Code::malformed,
              column != nullptr && is_conversion(status)
                  ? fmt::format("the rows before it are {}; write the column in one type, or as Parquet",
                                column->type()->ToString())
                  : "correct the row");
  }

  CsvCells cells_;
  arrow::FieldVector columns_;  // as what they are to be read
};

}  // namespace

std::unique_ptr<Table> open_csv_table(const std::string& path, CsvCells cells, const ChooseColumn& choose) {
  return std::make_unique<CsvTable>(path, cells, choose);
}

}  // namespace upsweep::io
