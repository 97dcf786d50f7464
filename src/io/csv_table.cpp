// SPDX-License-Identifier: Apache-2.0
// io/csv_table.cpp: a CSV file as a table. The type of a column is determined by all of its cells.
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "io/arrow_batches.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_table.hpp"
#include "io/csv_cells.hpp"
#include "io/csv_dialect.hpp"
#include "io/csv_input.hpp"
#include "io/csv_types.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"
#include "io/tuning.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

// Returns the column that a failure is about, or -1. Only the message names it.
int column_of(const arrow::Status& status) {
  constexpr std::string_view kColumn = "CSV column #";
  const std::string& text = status.message();
  const std::size_t at = text.find(kColumn);
  int column = -1;
  if (at != std::string::npos) std::from_chars(text.data() + at + kColumn.size(), text.data() + text.size(), column);
  return column;
}

std::string_view describe(const Cell& cell) {
  switch (cell.kind) {
    case CellKind::integer:
    case CellKind::decimal:
    case CellKind::real:
      return "is a number";
    case CellKind::date:
      return "is a date";
    case CellKind::boolean:
      return "is a boolean";
    case CellKind::empty:
    case CellKind::missing:
    case CellKind::text:
      break;
  }
  return cell.number.whole.empty() ? "is text" : "is text, as numbers do not begin with 0";
}

constexpr std::size_t kShownCell = 60;  // bytes, in messages

class CsvTable final : public ArrowTable {
 public:
  CsvTable(const FilePath& opened, CsvCells cells, const ChooseColumn& choose, int threads)
      : ArrowTable(opened), cells_(cells) {
    const auto file = open_csv(path_, open_again(file_, state_));
    require_dialect(*file);
    const CsvNames names = read_names(*file);
    format_ = {file, static_cast<int>(names.names.size())};
    check_first_block(names.end);
    for (const std::string& name : names.names) columns_.push_back(arrow::field(name, arrow::null()));
    declare(columns_);
    std::vector<int> wanted(columns_.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    if (choose) wanted.assign(1, choose(fields_));
    std::erase(wanted, -1);
    const CsvRows rows = find_rows(*file, names.end, file->size, format_.has_one_column(), threads);
    if (rows.fault) refuse_rows(first_of(first_failure(names.end), rows));
    row_groups_ = rows.row_groups;
    set_types(wanted, static_cast<bool>(choose), threads);
    starts_ = {0};
    read_to_count_ = true;
    for (const CsvRowGroup& row_group : row_groups_) add_row_group(row_group.rows);
    // A query may name more files than a process may have open.
    format_.file = with_descriptor(*file, {});
  }

  [[nodiscard]] Format format() const override { return Format::csv; }

  [[nodiscard]] RecordBatches batches(int row_group, const std::vector<int>& columns) const override {
    const std::vector<int> wanted = Selection(columns).columns;
    arrow::FieldVector fields;
    for (const int column : wanted) fields.push_back(columns_[static_cast<std::size_t>(column)]);
    const CsvFormat format = opened();
    auto reader = std::make_shared<CsvReader>(format, row_groups_[static_cast<std::size_t>(row_group)],
                                              start(row_group), wanted, fields);
    return {[reader, format, path = path_, fields = columns_]() -> NextBatch {
      auto batch = reader->next();
      if (!batch.ok()) refuse(batch.status(), format, path, fields);
      return batch;
    }};
  }

  [[nodiscard]] std::int64_t line(std::int64_t row, int column) const override {
    try {
      return line_of(*opened().file, row, column, format_.has_one_column());
    } catch (const Error&) {
      return -1;  // the file does not exist or has changed: an error about this row names the row
    }
  }

 private:
  // Opens the file again and checks that its state is the same as before.
  [[nodiscard]] CsvFormat opened() const {
    return {with_descriptor(*format_.file, open_again(file_, state_)), format_.columns};
  }

  [[nodiscard]] CsvPlace here() const { return {*format_.file, path_, 0, format_.has_one_column()}; }

  [[noreturn]] static void refuse(const arrow::Status& status, const CsvFormat& format, const std::string& path,
                                  const arrow::FieldVector& fields) {
    CsvPlace place{*format.file, path, 0, format.has_one_column()};
    const int column = column_of(status);
    if (column < 0) throw_csv(place, status, Code::malformed, "correct the row");
    place.name = full_name(path, fields[static_cast<std::size_t>(column)]->name());
    place.column = column;
    throw_csv(place, status, Code::malformed, "do not change the file while it is read");
  }

  // Faults of the first rows are reported before unsupported types of columns.
  void check_first_block(std::int64_t begin) const {
    const CsvFile& file = *format_.file;
    const std::int64_t end = std::min(begin + tuning::kText.first_block, file.size);
    const CsvRows rows = find_rows(file, begin, end, format_.has_one_column(), 1);
    refuse_rows(first_of(blocks_from(begin, tuning::kText.first_block).next().status(), rows));
  }

  void refuse_rows(const arrow::Status& status) const {
    if (!status.ok()) throw_csv(here(), status, Code::malformed, "correct the row");
  }

  // Returns the first failure of the rows from `begin` on, if any.
  [[nodiscard]] arrow::Status first_failure(std::int64_t begin) const {
    CsvBlocks blocks = blocks_from(begin, tuning::kText.block);
    for (;;) {
      const auto has_block = blocks.next();
      if (!has_block.ok() || !*has_block) return has_block.status();
    }
  }

  void set_types(const std::vector<int>& wanted, bool numbers, int threads) {
    if (cells_ == CsvCells::text) {
      for (auto& column : columns_) column = column->WithType(arrow::utf8());
      declare(columns_);
      return;
    }
    const auto [shapes, has_fault] = find_shapes(format_.file, row_groups_, wanted, format_.columns, threads);
    // If a row has a wrong number of cells, its cells belong to other columns. An error about their types would be
    // misleading.
    if (has_fault) refuse_rows(first_failure(row_groups_.front().begin));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto& column = columns_[static_cast<std::size_t>(wanted[i])];
      column = column->WithType(numbers ? type_of_numbers(shapes[i], wanted[i])
                                        : shapes[i].type(arrow::Decimal128Type::kMaxPrecision));
    }
    declare(columns_);
    // A column with only words such as NA is text. If another file has numbers there, they are NULL, as in a single
    // file.
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      fields_[static_cast<std::size_t>(wanted[i])].is_all_null = shapes[i].has_no_value();
    }
  }

  // In a column that must contain numbers, cells such as NA are NULL, even if there are no other cells.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type_of_numbers(const ColumnShape& shape, int column) const {
    if (shape.is_text() || shape.is_past_64_bits()) refuse_column(column);
    return shape.has_no_value() ? arrow::int64() : shape.type(kInt64Digits);
  }

  // Refuses a column, and names its first cell that is not a number, or not a number of a supported type.
  [[noreturn]] void refuse_column(int column) const {
    CsvPlace cell_place = here();
    cell_place.name = full_name(path_, columns_[static_cast<std::size_t>(column)]->name());
    cell_place.column = column;
    Code code = Code::unsupported_type;
    std::string_view advice = "upsweep computes with numbers, and dates written 2001-12-31";
    ColumnShape shape;
    const auto fault_of = [&](std::string_view text) -> std::string {
      const Cell cell = cell_of(text);
      const std::string_view before = shape.content();
      shape.add(cell);
      const std::string shown = printable(text, kShownCell);
      if (shape.is_past_64_bits()) {
        advice = "upsweep query computes with integers of up to 38 digits";
        return fmt::format("'{}' is an integer that does not fit 64 bits", shown);
      }
      if (!shape.is_text()) return {};
      if (before.empty()) return fmt::format("'{}' {}", shown, describe(cell));
      code = Code::malformed;
      return fmt::format("'{}' {}, and the cells before it are {}", shown, describe(cell), before);
    };
    CsvBlocks blocks = blocks_from(row_groups_.front().begin, tuning::kText.block);
    blocks.keep({column});
    for (;;) {
      const auto has_block = blocks.next();
      if (!has_block.ok()) refuse(has_block.status(), format_, path_, columns_);
      if (!*has_block) throw_changed(path_);
      const CsvColumn cells = blocks.column(0);
      for (std::int64_t row = 0; row < cells.rows(); ++row) {
        const std::string fault = fault_of(content_of(cells[row]));
        if (fault.empty()) continue;
        throw_csv(cell_place, cells.in_row(row, fault), code, advice);
      }
    }
  }

  // Returns the rows from `begin` on.
  [[nodiscard]] CsvBlocks blocks_from(std::int64_t begin, std::int64_t bytes) const {
    return {format_.file, format_.columns, begin, format_.file->size, 0, bytes};
  }

  CsvCells cells_;
  CsvFormat format_;
  arrow::FieldVector columns_;           // with the types to read
  std::vector<CsvRowGroup> row_groups_;  // of the file, in order
};

}  // namespace

std::unique_ptr<Table> open_csv_table(const FilePath& file, CsvCells cells, const ChooseColumn& choose, int threads) {
  return std::make_unique<CsvTable>(file, cells, choose, threads);
}

}  // namespace upsweep::io
