// SPDX-License-Identifier: Apache-2.0
// io/csv_input.cpp: names and rows of a CSV file, a block at a time, in the thread that asks; and messages about a row.
#include "io/csv_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "core/utf8.hpp"
#include "io/arrow_errors.hpp"
#include "io/csv_cells.hpp"
#include "io/csv_quotes.hpp"
#include "io/csv_sample.hpp"
#include "io/number_lines.hpp"
#include "io/tuning.hpp"
#include "upsweep/detail/row_place.hpp"

namespace upsweep::io {
namespace {

// The row of a CSV file that a failure is about, counted from 1 including the header row. Only the message names it.
struct CsvRow {
  std::int64_t number;
  std::string_view rest;  // of the message
};

std::optional<CsvRow> row_of(const arrow::Status& status) {
  constexpr std::string_view kRow = "Row #";
  const std::string_view text = status.ok() ? std::string_view() : status.message();
  const std::size_t at = text.find(kRow);
  if (at == std::string_view::npos) return std::nullopt;
  CsvRow row{};
  const auto [end, error] = std::from_chars(text.data() + at + kRow.size(), text.data() + text.size(), row.number);
  row.rest = {end, text.data() + text.size()};
  return error == std::errc() ? std::optional(row) : std::nullopt;
}

// The numbers in the message of CsvBlocks about a row whose number of cells differs from the number of columns.
struct Length {
  std::int64_t columns = 0;
  std::int64_t cells = 0;
};

std::optional<Length> length_of(std::string_view text) {
  constexpr std::string_view kWords[] = {": Expected ", " columns, got "};
  Length length;
  for (const std::string_view words : kWords) {
    if (!text.starts_with(words)) return std::nullopt;
    text.remove_prefix(words.size());
    std::int64_t& number = words == kWords[0] ? length.columns : length.cells;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return length;
}

// Appends the cells of a header row to the names of columns: x above a is x_a.
void add_names(const CsvFile& file, std::string_view row, std::vector<std::string>& names) {
  const CsvSample sample = split_sample(row, {.delimiter = std::string(1, file.delimiter)}, 1, true);
  if (sample.records.size() != 1) throw_changed(file.path);
  const std::vector<CsvCell>& cells = sample.records[0].cells;
  names.resize(std::max(names.size(), cells.size()));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string content = content_of(cells[i]);
    if (!is_utf8(content)) {
      throw Error(Code::malformed, fmt::format("{}: line {}: the name '{}' is not UTF-8; {}", file.path,
                                               line_of(file, -1, 0, false), printable(content, 60), kEncodingAdvice));
    }
    const std::string_view name = trimmed(content);
    if (!names[i].empty() && !name.empty()) names[i] += '_';
    names[i] += name;
  }
}

// Names columns without a name by their number, and makes all names different: a second a is a_1.
void complete_names(std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = fmt::format("column{}", i);
  }
  const std::set<std::string> written(names.begin(), names.end());
  for (std::string& name : names) {
    std::string unique = name;
    for (int number = 1; seen.contains(unique) || (number > 1 && written.contains(unique)); ++number) {
      unique = fmt::format("{}_{}", name, number);
    }
    name = unique;
    seen.insert(name);
  }
}

// Adds the column of a failure to its message.
arrow::Status in_column(int column, const arrow::Status& status) {
  return status.WithMessage("In CSV column #", column, ": ", status.message());
}

// Returns the failure in the earlier row. The first one may be no failure.
arrow::Status earlier(const arrow::Status& first, const arrow::Status& second) {
  const auto first_row = row_of(first);
  const auto second_row = row_of(second);
  const bool is_first = !first.ok() && (!second_row || (first_row && first_row->number <= second_row->number));
  return is_first ? first : second;
}

}  // namespace

CsvNames read_names(const CsvFile& file) {
  CsvNames names{{}, file.names};
  const std::vector<std::int64_t>& header = file.dialect.header;
  if (header.empty()) {
    names.names.resize(file.rows ? file.rows->columns() : file.dialect.rows.columns);
    complete_names(names.names);
    return names;
  }
  std::int64_t row = 1;
  for (; row <= header.back() && names.end < file.size; ++row) {
    const CsvRows found = find_rows(file, names.end, names.end + 1, false, 1);
    if (found.fault) throw_csv({file, file.path}, first_of({}, found), Code::malformed, kRowAdvice);
    const std::int64_t begin = std::exchange(names.end, found.row_groups[0].end);
    std::string line(static_cast<std::size_t>(names.end - begin), '\0');
    file.read(line.data(), std::ssize(line), begin);
    if (found.row_groups[0].rows == 0) {
      --row;  // an empty line
    } else if (std::find(header.begin(), header.end(), row) != header.end()) {
      if (!ends_line(line.back())) line += '\n';
      add_names(file, line, names.names);
    }
  }
  if (row <= header.back()) {
    throw Error(Code::malformed,
                fmt::format("{}: --header names row {}, and the table has fewer rows", file.path, header.back()));
  }
  if (file.dialect.rows.has_row_names) names.names.insert(names.names.begin(), "");
  complete_names(names.names);
  return names;
}

CsvReader::CsvReader(const CsvFormat& format, const CsvRowGroup& row_group, std::int64_t first_row,
                     std::vector<int> columns, arrow::FieldVector fields, std::vector<CellForm> forms)
    : blocks_(format.file, format.columns, row_group.begin, row_group.end, first_row, tuning::kText.block),
      columns_(std::move(columns)),
      fields_(std::move(fields)),
      forms_(std::move(forms)) {
  std::vector<int> sorted = columns_;
  std::sort(sorted.begin(), sorted.end());
  blocks_.keep(sorted);
  for (const int column : columns_)
    kept_.push_back(static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), column) - sorted.begin()));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> CsvReader::next() {
  ARROW_ASSIGN_OR_RAISE(const bool has_block, blocks_.next());
  if (!has_block) return nullptr;
  arrow::ArrayVector columns;
  arrow::Status failure;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    auto column = elements_of(blocks_.column(kept_[i]), fields_[i]->type(), forms_[i]);
    if (column.ok()) {
      columns.push_back(*column);
    } else {
      failure = earlier(failure, in_column(columns_[i], column.status()));
    }
  }
  ARROW_RETURN_NOT_OK(failure);
  return arrow::RecordBatch::Make(arrow::schema(fields_), blocks_.rows(), std::move(columns));
}

arrow::Status first_of(const arrow::Status& status, const CsvRows& rows) {
  if (!rows.fault) return status;
  if (const auto row = row_of(status); row && row->number < rows.fault->row) return status;
  return arrow::Status::Invalid("Row #", rows.fault->row, ": ", rows.fault->what);
}

void throw_csv(const CsvPlace& place, const arrow::Status& status, Code code, std::string_view advice) {
  const auto found = row_of(status);
  if (!found) throw_status(place.name, status);
  const std::int64_t row = found->number - 1 - place.file.header_rows();
  const std::int64_t line = line_of(place.file, row, place.column, place.only);
  const RowPlace where{place.file.path, row, line};  // the header row has row -1, which is not an index
  if (const auto length = length_of(found->rest)) {
    throw RowError(code,
                   fmt::format("{}: {}; {}", place.name, other_length(place.file, line, length->cells, length->columns),
                               kRowAdvice),
                   where);
  }
  if (found->rest.ends_with(kCellNotUtf8)) advice = kEncodingAdvice;
  throw RowError(code,
                 fmt::format("{}: line {}{}{}; {}", place.name, line, row < 0 ? ", the header row" : "",
                             printable(found->rest), advice),
                 where);
}

}  // namespace upsweep::io
