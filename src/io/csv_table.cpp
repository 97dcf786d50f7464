// SPDX-License-Identifier: Apache-2.0
// io/csv_table.cpp: a CSV file as a table; its columns have the types that its first block has, or are text; those with a
// point anywhere are decimals.
#include <arrow/record_batch.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "io/arrow_batches.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_table.hpp"
#include "io/csv_decimals.hpp"
#include "io/csv_dialect.hpp"
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

constexpr std::int64_t kFirstBlock = 1 << 20;  // bytes of rows that show what types columns have

class CsvTable final : public ArrowTable {
 public:
  CsvTable(const std::string& path, CsvCells cells, const ChooseColumn& choose, int threads)
      : ArrowTable(path), cells_(cells) {
    const auto file = open_csv(path_);
    require_dialect(*file);
    const CsvNames names = read_names(*file);
    format_ = std::make_shared<CsvFormat>(file, static_cast<int>(names.names.size()), cells);
    read_first_block(names);
    std::vector<int> wanted(columns_.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    if (choose) wanted = {choose(fields_)};
    set_types(wanted, static_cast<bool>(choose));
    const CsvRows rows = find_rows(*file, names.end, file->size, has_one_column(), threads);
    if (rows.fault) throw_csv(path_, first_of({}, rows), Code::malformed, "correct the row");
    set_decimals(wanted, rows, choose ? kInt64Digits : arrow::Decimal128Type::kMaxPrecision, threads);
    declare(columns_);
    pieces_ = rows.pieces;
    starts_ = {0};
    read_to_count_ = true;
    for (const CsvPiece& piece : pieces_) add_part(piece.rows);
  }

  [[nodiscard]] RecordBatches batches(int part, const std::vector<int>& columns) const override {
    std::vector<int> wanted = Selection(columns).columns;
    if (wanted.empty()) wanted.push_back(0);  // for its rows
    arrow::FieldVector fields;
    for (const int column : wanted) fields.push_back(columns_[static_cast<std::size_t>(column)]);
    auto reader = std::make_shared<CsvReader>(format_, pieces_[static_cast<std::size_t>(part)], start(part));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const arrow::Status added = reader->add(wanted[i], as_read(fields[i]));
      if (!added.ok()) throw_status(path_, added);
    }
    return {[path = path_, all = columns_, fields, reader, row = start(part)]() mutable -> NextBatch {
      auto batch = reader->next();
      if (!batch.ok()) refuse(batch.status(), path, all);
      if (!*batch) return batch;
      row += (*batch)->num_rows();
      return with_decimals(**batch, path, fields, row - (*batch)->num_rows());
    }};
  }

 private:
  [[nodiscard]] bool has_one_column() const { return format_->columns == 1; }

  // What is wrong with the first rows is reported before what their types are not good for.
  void read_first_block(const CsvNames& names) {
    const CsvFile& file = *format_->file;
    const std::int64_t end = std::min(names.end + kFirstBlock, file.size);
    const CsvRows rows = find_rows(file, names.end, end, has_one_column(), 1);
    auto first = CsvBlocks(format_, names.end, file.size, 0, kFirstBlock).next();
    const arrow::Status status = first_of(first.status(), rows);
    if (!status.ok()) throw_csv(path_, status, Code::malformed, "correct the row");
    first_block_ = *first;
    is_all_seen_ = end == file.size;
    for (int i = 0; i < format_->columns; ++i) {
      auto type = arrow::null();
      if (first_block_) type = checked(path_, [&] { return decode(*format_, first_block_, i, nullptr); })->type();
      columns_.push_back(arrow::field(names.names[static_cast<std::size_t>(i)], type));
    }
    declare(columns_);
  }

  // Of what Arrow sees in the first block, what is computed with; the rest is text, or refused where numbers are wanted.
  // Without a value it is int64; where the file has none at all, a column of NULL.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type_of_column(int column, bool numbers) const {
    if (cells_ == CsvCells::text) return arrow::utf8();
    const arrow::Field& field = *columns_[static_cast<std::size_t>(column)];
    const arrow::Type::type seen = field.type()->id();
    if (seen == arrow::Type::NA && is_all_seen_ && !numbers) return arrow::null();
    if (seen == arrow::Type::INT64 || seen == arrow::Type::NA) return arrow::int64();
    if (seen == arrow::Type::DATE32 || (seen == arrow::Type::BOOL && !numbers)) return field.type();
    if (seen == arrow::Type::DOUBLE) return try_type(column, arrow::uint64()).ok() ? arrow::uint64() : field.type();
    if (!numbers) return arrow::dictionary(arrow::int32(), arrow::utf8());
    const arrow::Status failure = try_type(column, arrow::float64());
    if (failure.ok()) return arrow::float64();
    throw_csv(full_name(path_, field.name()), failure, Code::unsupported_type,
              "upsweep computes with numbers, and dates written 2001-12-31");
  }

  // Arrow takes integers past the signed ones for floats.
  [[nodiscard]] arrow::Status try_type(int column, const std::shared_ptr<arrow::DataType>& type) const {
    return decode(*format_, first_block_, column, type).status();
  }

  void set_types(const std::vector<int>& wanted, bool numbers) {
    for (const int i : wanted) {
      auto& column = columns_[static_cast<std::size_t>(i)];
      column = column->WithType(type_of_column(i, numbers));
    }
    first_block_.reset();
  }

  // What the first block has of numbers, if any, does not show whether they are decimals, and of which scale.
  void set_decimals(const std::vector<int>& wanted, const CsvRows& rows, int most_digits, int threads) {
    std::vector<int> numeric;
    for (const int i : wanted) {
      const arrow::Type::type id = columns_[static_cast<std::size_t>(i)]->type()->id();
      if (arrow::is_integer(id) || arrow::is_floating(id)) numeric.push_back(i);
    }
    const auto types = find_decimals(format_->file, rows, numeric, most_digits, threads);
    for (std::size_t i = 0; i < types.size(); ++i) {
      auto& column = columns_[static_cast<std::size_t>(numeric[i])];
      if (types[i]) column = column->WithType(types[i]);
    }
  }

  // Decimals are read as text, and made of it by with_decimals().
  static std::shared_ptr<arrow::Field> as_read(const std::shared_ptr<arrow::Field>& field) {
    return arrow::is_decimal(field->type()->id()) ? field->WithType(arrow::utf8()) : field;
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
  std::shared_ptr<const CsvFormat> format_;
  CsvBlock first_block_;          // while types are found out; null: there are no rows
  bool is_all_seen_ = false;      // the first block is the whole file
  arrow::FieldVector columns_;    // as what they are to be read
  std::vector<CsvPiece> pieces_;  // the parts
};

}  // namespace

std::unique_ptr<Table> open_csv_table(const std::string& path, CsvCells cells, const ChooseColumn& choose,
                                      int threads) {
  return std::make_unique<CsvTable>(path, cells, choose, threads);
}

}  // namespace upsweep::io
