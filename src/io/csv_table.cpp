// SPDX-License-Identifier: Apache-2.0
// io/csv_table.cpp: a CSV file as a table. The type of a column is determined by all of its cells.
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
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
    case CellKind::percent:
    case CellKind::real:
      return "is a number";
    case CellKind::date:
      return "is a date";
    case CellKind::time:
      return "is a time";
    case CellKind::timestamp:
      return "is a timestamp";
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
  CsvTable(const FilePath& opened, const CsvOptions& options, const ChooseColumn& choose, int threads)
      : ArrowTable(opened) {
    if (!read_file(options, choose, threads)) {
      // Somewhere after the rows that were sniffed there is text that is not UTF-8.
      CsvOptions decoded = options;
      decoded.encoding = "windows-1252";
      read_file(decoded, choose, threads);
    }
  }

 private:
  // Returns false if the file is not UTF-8, and nothing says that it is.
  bool read_file(const CsvOptions& options, const ChooseColumn& choose, int threads) {
    const auto file = open_csv(path_, open_again(file_, state_), options, file_.is_cut, threads);
    const CsvNames names = read_names(*file);
    format_ = {file, static_cast<int>(names.names.size())};
    check_first_block(names.end);
    columns_.clear();
    for (const std::string& name : names.names) columns_.push_back(arrow::field(name, arrow::null()));
    declare(columns_);
    std::vector<int> wanted(columns_.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    if (choose) wanted.assign(1, choose(fields_));
    std::erase(wanted, -1);
    const std::int64_t first = options.first_bytes > 0 ? options.first_bytes : file->size;
    const std::int64_t until = std::min(names.end + first, file->size);
    const std::vector<int> undecided = set_required_types(options, wanted);
    auto [rows, found] = find_content(file, names.end, until, undecided, format_.columns, threads);
    if (rows.fault) refuse_rows(first_of(first_failure(names.end), rows));
    if (!rows.is_utf8 && options.encoding.empty() && file->dialect.encoding == Encoding::utf8 &&
        is_single_byte(*file)) {
      return false;
    }
    row_groups_ = std::move(rows.row_groups);
    is_partial_ = file->has_more || (until < file->size && row_groups_.back().end < file->size);
    set_types(undecided, found, static_cast<bool>(choose));
    starts_ = {0};
    read_to_count_ = true;
    for (const CsvRowGroup& row_group : row_groups_) add_row_group(row_group.rows);
    // A query may name more files than a process may have open.
    format_.file = with_descriptor(*file, {});
    return true;
  }

 public:
  [[nodiscard]] std::vector<std::string> remarks() const override { return remarks_; }
  [[nodiscard]] Format format() const override { return Format::csv; }
  [[nodiscard]] bool is_partial() const override { return is_partial_; }
  [[nodiscard]] const std::vector<WrittenNumbers>& written_numbers() const override { return written_; }
  [[nodiscard]] std::shared_ptr<const Table> with_kinds(
      const std::vector<std::pair<int, ValueKind>>& columns) const override {
    auto table = std::make_shared<CsvTable>(*this);
    for (const auto& [column, kind] : columns) table->set_kind(static_cast<std::size_t>(column), kind);
    return table;
  }
  [[nodiscard]] bool has_plain_numbers() const override {
    const CsvValues& values = format_.file->dialect.values;
    return values.decimal == '.' && values.thousands.empty();
  }

  [[nodiscard]] RecordBatches batches(int row_group, const std::vector<int>& columns) const override {
    const std::vector<int> wanted = Selection(columns).columns;
    arrow::FieldVector fields;
    std::vector<CellForm> forms;
    for (const int column : wanted) {
      fields.push_back(columns_[static_cast<std::size_t>(column)]);
      forms.push_back(forms_[static_cast<std::size_t>(column)]);
      forms.back().values = &format_.file->dialect.values;
    }
    const CsvFormat format = opened();
    auto reader = std::make_shared<CsvReader>(format, row_groups_[static_cast<std::size_t>(row_group)],
                                              start(row_group), wanted, fields, forms);
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
    if (column < 0) throw_csv(place, status, Code::malformed, kRowAdvice);
    place.name = full_name(path, fields[static_cast<std::size_t>(column)]->name());
    place.column = column;
    const bool is_required = status.message().find("that --types") != std::string::npos;
    throw_csv(place, status, Code::malformed,
              is_required ? "correct the cell, or read the column as another type"
                          : "do not change the file while it is read");
  }

  // Faults of the first rows are reported before unsupported types of columns.
  void check_first_block(std::int64_t begin) const {
    const CsvFile& file = *format_.file;
    const std::int64_t end = std::min(begin + tuning::kText.first_block, file.size);
    const CsvRows rows = find_rows(file, begin, end, format_.has_one_column(), 1);
    refuse_rows(first_of(blocks_from(begin, tuning::kText.first_block).next().status(), rows));
  }

  void refuse_rows(const arrow::Status& status) const {
    if (!status.ok()) throw_csv(here(), status, Code::malformed, kRowAdvice);
  }

  // Returns the first failure of the rows from `begin` on, if any.
  [[nodiscard]] arrow::Status first_failure(std::int64_t begin) const {
    CsvBlocks blocks = blocks_from(begin, tuning::kText.block);
    for (;;) {
      const auto has_block = blocks.next();
      if (!has_block.ok() || !*has_block) return has_block.status();
    }
  }

  // Returns the type that options require for a column; nothing if its cells decide.
  std::shared_ptr<arrow::DataType> required_type(const CsvOptions& options, int column) {
    std::shared_ptr<arrow::DataType> type;
    for (const auto& [name, wanted] : options.types) {
      if (!name.empty() && name != columns_[static_cast<std::size_t>(column)]->name()) continue;
      type = arrow_type_of(csv_type_named(wanted));
      forms_[static_cast<std::size_t>(column)].required = required_->emplace_back("--types " + wanted);
    }
    return type;
  }

  void require_columns(const CsvOptions& options) const {
    for (const auto& [name, type] : options.types) {
      const auto is_it = [&, &wanted = name](const auto& column) { return column->name() == wanted; };
      if (name.empty() || std::any_of(columns_.begin(), columns_.end(), is_it)) continue;
      throw Error(Code::unknown_column, fmt::format("{}: has no column '{}', which --types names; its columns are: {}",
                                                    path_, printable(name), names_of_columns(fields_)));
    }
  }

  // Sets the types that options require. Returns the columns of `wanted` whose cells must be examined.
  std::vector<int> set_required_types(const CsvOptions& options, const std::vector<int>& wanted) {
    forms_.assign(columns_.size(), CellForm{&format_.file->dialect.values, true, year_month_day, {}});
    written_.assign(columns_.size(), {});
    require_columns(options);
    std::vector<int> undecided;
    for (const int column : wanted) {
      auto& field = columns_[static_cast<std::size_t>(column)];
      const auto type = required_type(options, column);
      if (type) field = field->WithType(type);
      // Whether the day or the month of dates is first depends on all cells.
      if (!type || type->id() == arrow::Type::DATE32 || type->id() == arrow::Type::TIMESTAMP)
        undecided.push_back(column);
    }
    return undecided;
  }

  void set_kind(std::size_t column, ValueKind kind) {
    const bool is_text = kind == ValueKind::text;
    columns_[column] = columns_[column]->WithType(arrow_type_of({is_text ? CsvType::text : CsvType::timestamp}));
    types_[column] = columns_[column]->type();
    fields_[column] = field_of(*columns_[column]);
  }

  // Sets the types of `wanted` by their cells.
  void set_types(const std::vector<int>& wanted, const FoundShapes& found, bool numbers) {
    const auto& [shapes, has_fault] = found;
    const CsvValues& values = format_.file->dialect.values;
    // If a row has a wrong number of cells, its cells belong to other columns. An error about their types would be
    // misleading.
    if (has_fault) refuse_rows(first_failure(row_groups_.front().begin));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto& column = columns_[static_cast<std::size_t>(wanted[i])];
      auto& form = forms_[static_cast<std::size_t>(wanted[i])];
      const std::string_view required = form.required;
      form = shapes[i].form(values);
      written_[static_cast<std::size_t>(wanted[i])] = shapes[i].written(values);
      form.required = required;
      const std::string_view doubt = shapes[i].doubt();
      if (!required.empty() && !doubt.empty()) {
        throw Error(Code::malformed, fmt::format("{}: {}", full_name(path_, column->name()), doubt));
      }
      if (!required.empty()) continue;
      column = column->WithType(numbers ? type_of_numbers(shapes[i], wanted[i])
                                        : shapes[i].type(arrow::Decimal128Type::kMaxPrecision));
      if (const std::string_view why = doubt.empty() ? shapes[i].conflict() : doubt; !why.empty()) {
        remarks_.push_back(
            fmt::format("{}: column '{}' is read as text: its {}", path_, printable(column->name()), why));
      }
    }
    declare(columns_);
    add_remarks();
    // A column with only words such as NA is text. If another file has numbers there, they are NULL, as in a single
    // file.
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto column = static_cast<std::size_t>(wanted[i]);
      fields_[column].is_all_null = forms_[column].required.empty() && shapes[i].has_no_value();
    }
  }

  // Describes the dialect, and counts rows that were not read as they are.
  void add_remarks() {
    const CsvFile& file = *format_.file;
    if (const std::string form = describe(file.dialect); !form.empty())
      remarks_.insert(remarks_.begin(), path_ + ": " + form);
    if (!file.rows) return;
    const IrregularRows& rows = file.rows->irregular();
    const auto add = [&](std::int64_t count, std::string_view what) {
      if (count == 0) return;
      std::string lines;
      for (std::size_t i = 0; i < rows.lines.size() && std::cmp_less(i, rows.count()); ++i)
        lines += fmt::format("{}{}", lines.empty() ? "" : ", ", rows.lines[i]);
      remarks_.push_back(fmt::format("{}: {} row{} of another length {}, the first in lines {}", path_, count,
                                     count == 1 ? "" : "s", what, lines));
    };
    add(rows.filled, "filled or mended");
    add(rows.skipped, "left out");
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
    shape.set_values(format_.file->dialect.values);
    CellReader reader(format_.file->dialect.values);
    const auto fault_of = [&](std::string_view text) -> std::string {
      const Cell cell = reader(text);
      const std::string_view before = shape.content();
      shape.add(cell);
      const std::string shown = printable(text, kShownCell);
      if (shape.is_past_64_bits()) {
        advice = "upsweep query computes with integers of up to 38 digits";
        return fmt::format("'{}' is an integer that does not fit 64 bits", shown);
      }
      if (!shape.is_text()) return {};
      if (!shape.doubt().empty()) advice = shape.doubt();
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

  CsvFormat format_;
  arrow::FieldVector columns_;           // with the types to read
  std::vector<CellForm> forms_;          // of the columns
  std::vector<WrittenNumbers> written_;  // in the columns
  // The texts of the columns' options, also of copies of this table.
  std::shared_ptr<std::deque<std::string>> required_ = std::make_shared<std::deque<std::string>>();
  std::vector<CsvRowGroup> row_groups_;  // of the file, in order
  std::vector<std::string> remarks_;
  bool is_partial_ = false;
};

}  // namespace

std::unique_ptr<Table> open_csv_table(const FilePath& file, const CsvOptions& options, const ChooseColumn& choose,
                                      int threads) {
  return std::make_unique<CsvTable>(file, options, choose, threads);
}

}  // namespace upsweep::io
