// SPDX-License-Identifier: Apache-2.0
// io/csv_sample.cpp: the first rows of a CSV file, split in any dialect, and the kinds of their cells.
#include "io/csv_sample.hpp"

#include <algorithm>
#include <utility>

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "io/csv_cells.hpp"
#include "io/csv_numbers.hpp"
#include "io/csv_quotes.hpp"
#include "io/number_lines.hpp"

namespace upsweep::io {
namespace {

// Reading a thousand rows takes about 0.1 ms, and is enough to determine the form of a file.
constexpr std::size_t kMostRecords = 1000;
constexpr std::size_t kMostCells = std::size_t{1} << 17;  // of all records: a megabyte of commas has more

bool is_letter(char c) { return is_ascii_letter(c) || static_cast<unsigned char>(c) >= 0x80; }

// Whether the text is a code, such as 08701, or a number with separators of thousands. A reader reads both as text.
bool is_number_in_text(std::string_view cell) {
  WrittenNumber number;
  if (split_number(cell, number)) return true;
  if (is_digit(cell.back()) && cell.find_first_of(",'_", 1) != std::string_view::npos) {  // of thousands
    std::string digits(cell);
    std::erase_if(digits, [](char c) { return c == ',' || c == '\'' || c == '_'; });
    return split_number(digits, number);
  }
  return false;
}

// Whether a text has so few lines that all may be notes below a table.
bool has_few_lines(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t lines = 0; lines < kMostTitles && end != std::string_view::npos; ++lines) {
    end = text.find('\n', end);
    if (end != std::string_view::npos) ++end;
  }
  return end == std::string_view::npos || end == text.size();
}

}  // namespace

std::int64_t count_lines(std::string_view text) {
  std::int64_t lines = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool within_end = text[i] == '\n' && i > 0 && text[i - 1] == '\r';
    lines += ends_line(text[i]) && !within_end ? 1 : 0;
  }
  return lines;
}

CsvSample split_sample(std::string_view text, const CsvMarks& marks, std::int64_t line, bool whole, bool mends) {
  CsvMarks mending = marks;
  mending.rule = QuoteRule::literal;
  CsvSample sample;
  std::size_t at = 0;
  std::size_t cells = 0;
  std::int64_t empty_lines = 0;
  const auto has_room = [&] {
    return cells < kMostCells && (sample.records.size() < kMostRecords || (whole && has_few_lines(text.substr(at))));
  };
  while (at < text.size() && has_room()) {
    if (ends_line(text[at])) {
      ++empty_lines;
      at += text.substr(at).starts_with("\r\n") ? 2U : 1U;
      ++line;
      continue;
    }
    CsvRecord record{line, std::ssize(sample.records), empty_lines, at, {}, {}};
    SplitRow row = split_row(text.substr(at), marks, record.cells);
    if (mends && (row.end == RowEnd::fault || (row.end == RowEnd::open && whole))) {
      const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size() - 1);
      row = split_row(text.substr(at, end - at + (text.substr(end).starts_with("\r\n") ? 2U : 1U)), mending,
                      record.cells);
    }
    if (row.end == RowEnd::fault || (row.end == RowEnd::open && whole)) sample.quote_fault = true;
    if (row.end == RowEnd::fault || row.end == RowEnd::open || (row.end == RowEnd::text && !whole)) break;
    record.text = text.substr(at, row.size);
    line += count_lines(record.text);
    while (!record.text.empty() && ends_line(record.text.back())) record.text.remove_suffix(1);
    at += row.size;
    cells += record.cells.size();
    sample.records.push_back(std::move(record));
    sample.end = at;
  }
  return sample;
}

CellLook look_of(std::string_view cell) {
  using Kind = CellLook::Kind;
  cell = trimmed(cell);
  const bool has_digit = std::any_of(cell.begin(), cell.end(), is_digit);
  switch (cell_of(cell).kind) {
    case CellKind::empty:
    case CellKind::missing:
      return {Kind::empty};
    case CellKind::integer:
    case CellKind::decimal:
    case CellKind::percent:
      return {Kind::number};
    case CellKind::real:
      return {has_digit ? Kind::number : Kind::empty};  // nan and inf also represent missing values
    case CellKind::boolean:
      return {Kind::boolean};
    case CellKind::date:
    case CellKind::time:
    case CellKind::timestamp:
    case CellKind::text:
      break;
  }
  Moment moment;
  if (parse_moment(cell, moment)) {
    return {Kind::figure, !moment.has_date ? "time" : moment.has_time ? "timestamp" : "date"};
  }
  if (is_number_in_text(cell) || (has_digit && NumberEvidence().add(cell))) return {Kind::number};
  // T and Z occur in 2001-12-31T12:30:00Z.
  const bool has_letter =
      std::any_of(cell.begin(), cell.end(), [](char c) { return is_letter(c) && c != 'T' && c != 'Z'; });
  if (!has_digit || has_letter || cell.front() == 'T' || cell.front() == 'Z') return {Kind::text};
  CellLook look{Kind::figure};
  std::copy_if(cell.begin(), cell.end(), std::back_inserter(look.shape), [](char c) { return !is_digit(c); });
  return look;
}

CellLook look_of_column(const std::vector<CsvRecord>& records, std::size_t first, std::size_t column) {
  CellLook common;
  for (std::size_t i = first; i < records.size(); ++i) {
    if (column >= records[i].cells.size()) continue;
    CellLook look = look_of(records[i].cells[column].text);
    if (look.kind == CellLook::Kind::empty || look == common) continue;
    if (common.kind != CellLook::Kind::empty || look.kind == CellLook::Kind::text) return {CellLook::Kind::text};
    common = std::move(look);
  }
  return common;
}

}  // namespace upsweep::io
