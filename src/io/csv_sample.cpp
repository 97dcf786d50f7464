// SPDX-License-Identifier: Apache-2.0
// io/csv_sample.cpp: the first rows of a CSV file, split at any delimiter, and the kinds of their cells.
#include "io/csv_sample.hpp"

#include <algorithm>
#include <utility>

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "io/csv_cells.hpp"
#include "io/csv_quotes.hpp"
#include "io/number_lines.hpp"

namespace upsweep::io {
namespace {

// Reading a thousand rows takes about 0.1 ms, and is enough to determine the form of a file.
constexpr std::size_t kMostRecords = 1000;
constexpr std::size_t kMostCells = std::size_t{1} << 17;  // of all records: a megabyte of commas has more

class Splitter {
 public:
  Splitter(std::string_view text, char delimiter, std::int64_t line, bool whole)
      : text_(text), delimiter_(delimiter), line_(line), whole_(whole) {}

  CsvSample split() {
    while (at_ < text_.size() && sample_.records.size() < kMostRecords && cells_ < kMostCells) {
      if (ends_line(text_[at_])) {
        ++empty_lines_;
        pass_line_end();
      } else if (!add_record()) {
        break;
      }
    }
    return std::move(sample_);
  }

 private:
  // Returns false at the end of the sample.
  bool add_record() {
    CsvRecord record{line_, std::ssize(sample_.records), empty_lines_, {}, {}};
    const std::size_t begin = at_;
    for (;;) {
      CsvCell cell;
      if (!take_cell(cell)) return false;
      const bool ends = at_ == text_.size() || ends_line(text_[at_]);
      const bool is_padding = delimiter_ == ' ' && ends && !cell.quoted && cell.text.empty() && !record.cells.empty();
      if (!is_padding) record.cells.push_back(cell);
      if (ends) break;
      ++at_;
    }
    if (at_ == text_.size() && !whole_) return false;
    record.text = text_.substr(begin, at_ - begin);
    cells_ += record.cells.size();
    sample_.records.push_back(std::move(record));
    if (at_ < text_.size()) pass_line_end();
    return true;
  }

  // Takes the next cell, up to the delimiter or the end of the line. Returns false if quotes are wrong, or continue
  // past the text.
  bool take_cell(CsvCell& cell) {
    if (delimiter_ == ' ') at_ = std::min(text_.find_first_not_of(' ', at_), text_.size());
    const auto ends_cell = [&](char c) { return c == delimiter_ || ends_line(c); };
    if (at_ == text_.size() || text_[at_] != '"') {
      const auto* const end = std::find_if(text_.begin() + std::ptrdiff_t(at_), text_.end(), ends_cell);
      cell.text = text_.substr(at_, static_cast<std::size_t>(end - text_.begin()) - at_);
      at_ += cell.text.size();
      return true;
    }
    const std::size_t begin = ++at_;
    for (;; ++at_) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) {
        sample_.quote_fault = whole_;
        return false;
      }
      line_ += count_lines(text_.substr(at_, quote - at_));
      at_ = quote + 1;
      if (at_ == text_.size() || text_[at_] != '"') break;
    }
    cell = {text_.substr(begin, at_ - 1 - begin), true};
    sample_.quote_fault = at_ < text_.size() && !ends_cell(text_[at_]);
    return !sample_.quote_fault;
  }

  void pass_line_end() {
    at_ += text_.substr(at_).starts_with("\r\n") ? 2U : 1U;
    ++line_;
  }

  std::string_view text_;
  char delimiter_;
  std::int64_t line_;
  bool whole_;
  std::size_t at_ = 0;
  std::size_t cells_ = 0;
  std::int64_t empty_lines_ = 0;
  CsvSample sample_;
};

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

}  // namespace

std::int64_t count_lines(std::string_view text) {
  std::int64_t lines = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool within_end = text[i] == '\n' && i > 0 && text[i - 1] == '\r';
    lines += ends_line(text[i]) && !within_end ? 1 : 0;
  }
  return lines;
}

CsvSample split_sample(std::string_view text, char delimiter, std::int64_t line, bool whole) {
  return Splitter(text, delimiter, line, whole).split();
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
      return {Kind::number};
    case CellKind::real:
      return {has_digit ? Kind::number : Kind::empty};  // nan and inf also represent missing values
    case CellKind::boolean:
      return {Kind::boolean};
    case CellKind::date:
    case CellKind::text:
      break;
  }
  if (is_number_in_text(cell)) return {Kind::number};
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
