// SPDX-License-Identifier: Apache-2.0
// io/csv_table.cpp: a CSV file as a table of one part; its columns have the types that its first block has, or are text;
// those with a point anywhere are decimals.
#include <arrow/array/array_primitive.h>
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <utility>

#include "io/arrow_batches.hpp"
#include "io/arrow_files.hpp"
#include "io/arrow_table.hpp"
#include "io/csv_decimals.hpp"
#include "io/csv_input.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

// Whether Arrow took for floats what may be integers past the signed ones.
bool may_be_unsigned(const arrow::Array& array) {
  const auto& numbers = static_cast<const arrow::DoubleArray&>(array);
  bool large = false;
  for (std::int64_t i = 0; i < numbers.length(); ++i) {
    if (numbers.IsNull(i)) continue;
    if (!(numbers.Value(i) >= 0)) return false;
    large = large || numbers.Value(i) >= 0x1p63;
  }
  return large;
}

// Arrow names the column by its number in the message only.
std::string named_in(const arrow::Status& status, const std::string& path, const arrow::FieldVector& fields) {
  constexpr std::string_view kColumn = "CSV column #";
  const std::string& text = status.message();
  const std::size_t at = text.find(kColumn);
  std::size_t column = fields.size();
  if (at != std::string::npos) std::from_chars(text.data() + at + kColumn.size(), text.data() + text.size(), column);
  return column < fields.size() ? full_name(path, fields[column]->name()) : path;
}

class CsvTable final : public Table {
 public:
  CsvTable(std::string path, CsvCells cells) : path_(std::move(path)), state_(file_state(path_)), cells_(cells) {
    require_commas(path_);
    auto reader = start_csv(path_, {});
    if (!reader.ok()) throw_csv(path_, reader.status(), Code::malformed, "correct the row");
    columns_ = (*reader)->schema()->fields();
    if (has_one_column()) reader = start_csv(path_, {}, true);
    if (!reader.ok()) throw_csv(path_, reader.status(), Code::malformed, "correct the row");
    const auto next = (*reader)->Next();
    if (!next.ok()) throw_csv(path_, next.status(), Code::malformed, "correct the row");
    const auto& first = *next;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto type = type_of_column(*columns_[i], first ? first->column(static_cast<int>(i)) : nullptr);
      columns_[i] = arrow::field(columns_[i]->name(), type);
    }
    set_decimals();
    for (const auto& column : columns_) fields_.push_back(field_of(*column));
  }

  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int parts() const override { return 1; }
  [[nodiscard]] std::int64_t rows() const override { return -1; }
  [[nodiscard]] std::int64_t rows(int /*part*/) const override { return -1; }
  [[nodiscard]] ColumnRange range(int /*part*/, int /*column*/) const override { return {}; }

  [[nodiscard]] std::unique_ptr<BatchReader> open(int /*part*/, const std::vector<int>& columns) const override {
    arrow::FieldVector wanted;
    for (const int column : Selection(columns).columns) wanted.push_back(columns_[static_cast<std::size_t>(column)]);
    if (wanted.empty()) wanted.push_back(columns_[0]);  // for its rows
    ArrowPart opened = make_part(path_, state_, fields_, columns);
    opened.source = [path = path_, fields = columns_, wanted, one = has_one_column(), cells = cells_,
                     reader = std::shared_ptr<CsvReader>(),
                     row = std::int64_t{0}]() mutable -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
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
    return read_batches(std::move(opened));
  }

 private:
  [[nodiscard]] bool has_one_column() const { return columns_.size() == 1; }

  // Of what Arrow sees in the first block, what is computed with; the rest is text. Without a value it is int64.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type_of_column(const arrow::Field& field,
                                                                const std::shared_ptr<arrow::Array>& first) const {
    if (cells_ == CsvCells::text) return arrow::utf8();
    switch (field.type()->id()) {
      case arrow::Type::INT64:
      case arrow::Type::NA:
        return arrow::int64();
      case arrow::Type::BOOL:
      case arrow::Type::DATE32:
        return field.type();
      case arrow::Type::DOUBLE: {
        const bool integers = first && may_be_unsigned(*first) &&
                              start_csv(path_, {arrow::field(field.name(), arrow::uint64())}, has_one_column()).ok();
        return integers ? arrow::uint64() : arrow::float64();
      }
      default:
        return arrow::dictionary(arrow::int32(), arrow::utf8());
    }
  }

  // What the first block has of numbers, if any, does not tell whether they are decimals, and of which scale.
  void set_decimals() {
    std::vector<int> numeric;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (arrow::is_integer(columns_[i]->type()->id()) || arrow::is_floating(columns_[i]->type()->id()))
        numeric.push_back(static_cast<int>(i));
    }
    const auto types = find_decimals(path_, numeric, arrow::Decimal128Type::kMaxPrecision);
    for (std::size_t i = 0; i < types.size(); ++i) {
      auto& column = columns_[static_cast<std::size_t>(numeric[i])];
      if (types[i]) column = arrow::field(column->name(), types[i]);
    }
  }

  static arrow::FieldVector as_read(const arrow::FieldVector& fields) {
    arrow::FieldVector read;
    for (const auto& field : fields) read.push_back(arrow::field(field->name(), type_in_csv(field->type())));
    return read;
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
    throw_csv(named_in(status, path, fields), status, Code::malformed,
              is_conversion(status)
                  ? "the rows before it are of another type; write the column in one type, or as Parquet"
                  : "correct the row");
  }

  std::string path_;
  FileState state_;
  CsvCells cells_;
  arrow::FieldVector columns_;  // as what they are to be read
  std::vector<Field> fields_;
};

}  // namespace

std::unique_ptr<Table> open_csv_table(const std::string& path, CsvCells cells) {
  return checked(path,
                 [&]() -> arrow::Result<std::unique_ptr<Table>> { return std::make_unique<CsvTable>(path, cells); });
}

}  // namespace upsweep::io
