// SPDX-License-Identifier: Apache-2.0
// io/csv_dialect.cpp: refuses CSV files of an unsupported form, by their first rows.
//
// A file of another form would often be read without an error, but wrongly. It would be one column if its delimiter is
// not the comma. Without a header row, its first row would become the names; with a title, the title would. Each
// function below detects one such form.
#include "io/csv_dialect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/decimal.hpp"
#include "core/utf8.hpp"
#include "io/csv_sample.hpp"
#include "io/number_lines.hpp"
#include "io/source.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

using Kind = CellLook::Kind;
using Records = std::vector<CsvRecord>;

constexpr std::int64_t kHeadBytes = std::int64_t{1} << 20;
constexpr std::size_t kMostTitles = 30;  // lines above a table

struct Delimiter {
  char character;
  std::string_view called;
  bool is_common;  // in text: it separates columns only where the cells are numbers
};
constexpr Delimiter kDelimiters[] = {{';', "semicolons", false}, {'\t', "tabs", false}, {'|', "vertical bars", false},
                                     {'~', "tildes", false},     {':', "colons", true}, {' ', "blanks", true}};

// How files begin that are not tables of text, in lower case.
struct Beginning {
  std::string_view bytes;
  std::string_view called;
};
constexpr Beginning kOthers[] = {
    {"%pdf-", "a PDF document"},
    {"sqlite format 3", "an SQLite database"},
    {"\x89png", "an image"},
    {"\x89hdf", "HDF5"},
    {"obj\x01", "Avro"},
    {"\x7f"
     "elf",
     "a program"},
    {"{\\rtf", "an RTF document"},
    {"<!doctype", "an HTML page"},
    {"<html", "an HTML page"},
    {"<?xml", "XML"},
    {"version https://git-lfs.github.com/", "a Git LFS pointer"},
};

// Whether the text begins with a JSON array or object. "[id],[name]" are names.
bool is_json(std::string_view text) {
  const std::size_t next = text.find_first_not_of(" \t\r\n", 1);
  if (next == std::string_view::npos) return false;
  if (text.front() == '{') return text[next] == '"' || text[next] == '}';
  if (text.front() != '[') return false;
  const std::string_view line = trimmed(text.substr(0, text.find_first_of("\r\n")));
  const bool is_list = is_digit(text[next]) && line.find(']') == line.size() - 1;
  return is_list || text[next] == '{' || text[next] == '[' || text[next] == '"';
}

void require_text(const std::string& path, std::string_view head, std::int64_t line) {
  const std::string_view text = head.substr(std::min(head.find_first_not_of(" \t"), head.size()));
  std::string_view called = text.empty() || !is_json(text) ? "" : "JSON";
  for (const Beginning& other : kOthers) {
    if (ends_in(text.substr(0, other.bytes.size()), other.bytes)) called = other.called;
  }
  if (!called.empty()) {
    throw Error(Code::malformed, fmt::format("{}: is {}, not CSV; save its table as CSV", path, called));
  }
  const std::size_t zero = head.find('\0');
  if (zero == std::string_view::npos) return;
  throw Error(Code::malformed,
              fmt::format("{}: line {} has a NUL byte, which text does not have; save the table as CSV", path,
                          line + count_lines(head.substr(0, zero))));
}

// Whether a character separates cells more often than it occurs in names. Control characters exist for this purpose.
bool may_separate(std::uint32_t c) {
  constexpr std::uint32_t kCharacters[] = {'^',  '!',  '*',  '=',    '#',    '$',    '%',    '&',    0xA6,
                                           0xA7, 0xAC, 0xB6, 0x2016, 0x2022, 0x3001, 0xFF0C, 0xFF1B, 0xFF5C};
  const bool is_line_of_a_box = c >= 0x2500 && c < 0x2580;
  return c < ' ' || is_line_of_a_box ||
         std::find(std::begin(kCharacters), std::end(kCharacters), c) != std::end(kCharacters);
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view delimiter) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t end = text.find(delimiter);
    cells.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return cells;
    text.remove_prefix(end + delimiter.size());
  }
}

std::string count_cells(const CsvRecord& record) {
  const std::size_t count = record.cells.size();
  return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
}

std::string quoted(std::string_view text) { return fmt::format("'{}'", printable(text, 60)); }

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

std::size_t count_filled(const CsvRecord& record) {
  return static_cast<std::size_t>(std::count_if(record.cells.begin(), record.cells.end(),
                                                [](const CsvCell& cell) { return !is_blank(cell.text); }));
}

// Returns the first record whose number of cells differs from that of the first record; the number of records if there
// is none.
std::size_t first_of_other_length(const Records& records) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const CsvRecord& record) {
    return record.cells.size() != records.front().cells.size();
  });
  return static_cast<std::size_t>(found - records.begin());
}

// Returns where the records begin whose number of cells is that of the last record; the end if that has one cell.
std::size_t start_of_table(const Records& records) {
  const std::size_t width = records.back().cells.size();
  if (width < 2) return records.size();
  std::size_t start = records.size();
  while (start > 0 && records[start - 1].cells.size() == width) --start;
  return start;
}

bool has_numbers(const CsvRecord& record) {
  return std::any_of(record.cells.begin(), record.cells.end(),
                     [](const CsvCell& cell) { return look_of(cell.text).is_typed(); });
}

// Whether a record has text above values of another kind, in at least one column, and no such value itself.
bool is_header(const Records& records, std::size_t place) {
  const CsvRecord& record = records[place];
  if (has_numbers(record)) return false;
  for (std::size_t column = 0; column < record.cells.size(); ++column) {
    if (look_of(record.cells[column].text).kind != Kind::text) continue;
    if (look_of_column(records, place + 1, column).is_typed()) return true;
  }
  return false;
}

class Inspection {
 public:
  Inspection(const CsvFile& file, std::string_view head, std::int64_t line, bool whole)
      : path_(file.path), head_(head), line_(line), whole_(whole), sample_(split(',')) {}

  void run() const {
    if (sample_.records.empty()) {
      if (sample_.quote_fault) require_comma();
      return;
    }
    require_no_separator_line();
    const bool ragged = first_of_other_length(records()) < records().size();
    const bool broken = sample_.quote_fault && records().size() == 1;
    if (width() == 1 || ragged || broken) require_comma();
    require_no_comment(ragged);
    if (ragged) refuse_ragged();
    if (width() > 1) {
      require_names();
      require_no_padded_title();
    }
    require_double_quotes();
    require_header();
    if (width() > 1) require_one_header();
  }

 private:
  [[nodiscard]] const Records& records() const { return sample_.records; }
  [[nodiscard]] const CsvRecord& first() const { return sample_.records.front(); }
  [[nodiscard]] std::size_t width() const { return first().cells.size(); }
  [[nodiscard]] CsvSample split(char delimiter) const { return split_sample(head_, delimiter, line_, whole_); }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Code::malformed, fmt::format("{}: {}", path_, what));
  }
  [[noreturn]] void refuse(const std::string& what, const CsvRecord& record) const {
    throw RowError(Code::malformed, fmt::format("{}: {}", path_, what), {path_, row_of(record), record.line});
  }

  // Returns the record's number as messages count rows; less than 0 for the first record, which contains the names.
  [[nodiscard]] std::int64_t row_of(const CsvRecord& record) const {
    return record.row - 1 + (width() == 1 ? record.empty_lines : 0);
  }

  // Excel writes "sep=;" as the first line, and does not read it as a row.
  void require_no_separator_line() const {
    std::string_view line = first().text;
    if (line.starts_with('"') && line.ends_with('"') && line.size() > 1) line = line.substr(1, line.size() - 2);
    if (line.size() != 5 || !ends_in(line.substr(0, 4), "sep=")) return;
    refuse(
        fmt::format("line {} is {}, so its columns are separated by {}, but only commas are supported; write the file "
                    "with commas, without that line",
                    first().line, quoted(line), called(line[4])));
  }

  static std::string called(char character) {
    for (const Delimiter& delimiter : kDelimiters) {
      if (delimiter.character == character) return std::string(delimiter.called);
    }
    return quoted({&character, 1});
  }

  void require_comma() const {
    for (const Delimiter& delimiter : kDelimiters) {
      if (delimiter.is_common && width_of_commas() > 1) continue;
      const CsvSample other = split(delimiter.character);
      if (other.records.empty()) continue;
      if (delimiter.is_common ? separates_numbers(other.records) : separates(other.records)) {
        refuse_delimiter(delimiter.called);
      }
      if (!delimiter.is_common && !has_one_quoted_name(other.records)) {
        require_no_title(other.records, delimiter.called);
      }
    }
    if (width_of_commas() == 1) require_no_rare_delimiter();
  }

  [[noreturn]] void refuse_delimiter(std::string_view delimiter) const {
    refuse(
        fmt::format("its columns seem to be separated by {}, but only commas are supported; write it with commas, or, "
                    "if it has one column with that name, put the name in quotes",
                    delimiter));
  }

  static bool has_one_quoted_name(const Records& records) {
    return records.front().cells.size() == 1 && records.front().cells.front().quoted;
  }

  // Refuses a character that is between names and occurs equally often in each of the other rows.
  void require_no_rare_delimiter() const {
    if (records().size() < 2 || has_one_quoted_name(records())) return;
    const std::string_view names = first().text;
    for (std::size_t at = 0; at < names.size();) {
      const CodePoint c = code_point(names, at);
      if (c.bytes == 0) return;  // not UTF-8, which another check reports
      const std::string_view delimiter = names.substr(at, c.bytes);
      at += c.bytes;
      if (!may_separate(c.value)) continue;
      const std::vector<std::string_view> cells = split_at(names, delimiter);
      const bool splits_alike = std::none_of(cells.begin(), cells.end(), is_blank) &&
                                std::all_of(records().begin(), records().end(), [&](const CsvRecord& record) {
                                  return split_at(record.text, delimiter).size() == cells.size();
                                });
      if (splits_alike) refuse_delimiter(quoted(delimiter));
    }
  }

  [[nodiscard]] std::size_t width_of_commas() const { return records().empty() ? 1 : width(); }

  // Whether the header row has several cells, and at least half of the other rows do.
  static bool separates(const Records& records) {
    const auto has_several = [](const CsvRecord& record) { return record.cells.size() > 1; };
    const auto several = std::count_if(records.begin() + 1, records.end(), has_several);
    return has_several(records.front()) && several > 0 && 2 * several >= std::ssize(records) - 1;
  }

  // The stricter check for a character that also occurs in text: all rows have the same number of cells, and all cells
  // below the names are numbers. In times, colons also separate numbers.
  static bool separates_numbers(const Records& records) {
    if (records.size() < 2 || records.front().cells.size() < 2) return false;
    if (first_of_other_length(records) < records.size()) return false;
    const auto is_number = [](const CsvCell& cell) { return look_of(cell.text).kind == Kind::number; };
    const auto is_time = [](const CsvRecord& record) {
      return record.text.find(':') != std::string_view::npos &&
             std::all_of(record.cells.begin() + 1, record.cells.end(),
                         [](const CsvCell& cell) { return cell.text.size() == 2 && cell.text[0] <= '5'; });
    };
    return !std::all_of(records.begin() + 1, records.end(), is_time) &&
           std::all_of(records.begin() + 1, records.end(), [&](const CsvRecord& record) {
             return std::all_of(record.cells.begin(), record.cells.end(), is_number);
           });
  }

  // Refuses lines above a table that have fewer cells than the table.
  void require_no_title(const Records& table, std::string_view delimiter) const {
    const std::size_t start = start_of_table(table);
    if (start == 0 || start > kMostTitles || start + 2 > table.size()) return;
    const auto has_fewer = [&](const CsvRecord& record) { return record.cells.size() < table[start].cells.size(); };
    if (!std::all_of(table.begin(), table.begin() + std::ptrdiff_t(start), has_fewer)) return;
    // One column of text may have such a character in every cell: then there is neither an empty line nor a number.
    const bool parted = table[start].empty_lines > table[start - 1].empty_lines;
    const bool alone = start == 1 && table.front().cells.size() == 1 && parted;
    if (!is_header(table, start) && !alone) return;
    const bool may_be_one_column = !delimiter.empty() && width_of_commas() == 1;
    refuse(fmt::format(
        "line {} ({}) seems to be a title: it has {}, and line {} has {}{}; remove the lines above the "
        "header row, such as by tail -n +{}{}",
        table.front().line, quoted(table.front().text), count_cells(table.front()), table[start].line,
        count_cells(table[start]), delimiter.empty() ? "" : fmt::format(", if {} separate columns", delimiter),
        table[start].line, may_be_one_column ? ", or, if it is the name of the only column, put it in quotes" : ""));
  }

  void require_no_comment(bool ragged) const {
    if (!first().text.starts_with('#')) return;
    const bool sentence = first().text.starts_with("# ") && width() == 1;
    const bool several = records().size() > 1 && records()[1].text.starts_with('#');
    const bool alone = ragged && records()[1].cells.size() != width();
    if (!sentence && !several && !alone) return;
    refuse(fmt::format(
        "line {} begins with '#' and seems to be a comment: {}; remove it, so that the file begins with the "
        "header row",
        first().line, quoted(first().text)));
  }

  [[noreturn]] void refuse_ragged() const {
    require_no_title(records(), "");
    const CsvRecord& record = records()[first_of_other_length(records())];
    refuse(other_length(record.line, std::ssize(record.cells), first().line, std::ssize(first().cells)) + "; " +
               why_ragged(record),
           record);
  }

  // Returns the probable reason for the row's number of cells, and the remedy.
  [[nodiscard]] std::string why_ragged(const CsvRecord& record) const {
    const auto any = [&](auto is_it) {
      return std::any_of(record.cells.begin(), record.cells.end(),
                         [&](const CsvCell& cell) { return !cell.quoted && is_it(cell.text); });
    };
    if (is_blank(record.text)) return "it contains only blanks: remove it";
    if (record.text.starts_with('#')) return "it begins with '#' and seems to be a comment: remove it";
    if (any([](std::string_view cell) { return cell.starts_with('\''); })) {
      return "cells are quoted with double quotes only, not with apostrophes: write the file with double quotes";
    }
    if (any([](std::string_view cell) { return cell.starts_with(' ') && trimmed(cell).starts_with('"'); })) {
      return "a blank precedes a quote, so the quote is part of the cell: remove such blanks";
    }
    if (any([](std::string_view cell) { return cell.find('"') != std::string_view::npos; })) {
      return "a quote inside an unquoted cell does not quote: write the whole cell in quotes, and double the quotes "
             "within it";
    }
    if (any([](std::string_view cell) { return cell.ends_with('\\'); })) {
      return "a backslash does not escape a comma: write the whole cell in quotes";
    }
    if (record.cells.size() > width() && record.text.ends_with(',')) return "it ends with a comma: remove that";
    return "correct the row; write a cell with commas in quotes";
  }

  // Refuses a title or a heading in the first cell of a row whose other cells are empty.
  void require_no_padded_title() const {
    const auto is_title = [](const CsvRecord& record) { return count_filled(record) < 2; };
    if (count_filled(first()) != 1) return;
    const auto table = std::find_if_not(records().begin(), records().end(), is_title);
    if (table == records().end() || table - records().begin() > std::ptrdiff_t(kMostTitles)) return;
    const auto is_empty = [](const CsvRecord& record) { return count_filled(record) == 0; };
    const bool parted = std::any_of(records().begin(), table, is_empty);
    const bool heads = is_header(records(), static_cast<std::size_t>(table - records().begin()));
    if (!parted && !heads && (is_blank(first().cells[0].text) || !are_names(*table))) return;
    refuse(fmt::format(
        "line {} ({}) seems to be a title: only one of its cells is filled; remove the lines above the header "
        "row, such as by tail -n +{}",
        first().line, quoted(first().text), table->line));
  }

  // Whether at least three cells are filled, with text only, and no two are equal.
  static bool are_names(const CsvRecord& record) {
    std::set<std::string_view> names;
    for (const CsvCell& cell : record.cells) {
      if (!is_blank(cell.text) && !names.insert(cell.text).second) return false;
    }
    return names.size() > 2 && !has_numbers(record);
  }

  // Refuses rows of empty cells above the table, as spreadsheets write them.
  void require_names() const {
    if (count_filled(first()) > 0) return;
    const auto table = std::find_if(records().begin(), records().end(),
                                    [](const CsvRecord& record) { return count_filled(record) > 1; });
    refuse(fmt::format(
        "line {} has no names, as all of its {} cells are empty, but a CSV file begins with a header row; "
        "{}",
        first().line, width(),
        table == records().end() ? "add one"
                                 : fmt::format("remove the lines above the header row, such as by tail -n +{}, "
                                               "or add names",
                                               table->line)));
  }

  // Refuses cells that seem to be quoted, but in an unsupported way.
  void require_double_quotes() const {
    for (const CsvRecord& record : records()) {
      for (std::size_t i = 0; i < record.cells.size(); ++i) {
        if (!record.cells[i].quoted) require_double_quotes(record, i);
      }
    }
    for (std::size_t column = 0; column < width(); ++column) require_no_apostrophes(column);
  }

  void require_double_quotes(const CsvRecord& record, std::size_t column) const {
    const std::string_view cell = record.cells[column].text;
    const std::size_t quote = cell.find('"');
    if (quote == std::string_view::npos) return;
    const std::string_view inner = trimmed(cell);
    if (inner.size() > 1 && inner.starts_with('"') && inner.ends_with('"')) {
      refuse(
          fmt::format("line {}: a blank precedes the quote of {}, so the quote is part of the cell; remove such blanks",
                      record.line, quoted(cell)),
          record);
    }
    // A quote opens inside one cell, without a blank after it (unlike 9" x 4"), and closes at the end of a later cell.
    const auto is_odd = [](std::string_view text) { return std::count(text.begin(), text.end(), '"') % 2 == 1; };
    bool opens = false;
    for (std::size_t i = 1; i + 1 < cell.size(); ++i) {
      opens = opens || (cell[i] == '"' && cell[i + 1] != ' ' && cell[i + 1] != '"' && cell[i - 1] != '"');
    }
    if (!is_odd(cell) || !opens) return;
    for (std::size_t i = column + 1; i < record.cells.size(); ++i) {
      const CsvCell& other = record.cells[i];
      if (other.quoted || !is_odd(other.text)) continue;
      if (!other.text.ends_with('"')) return;
      refuse(fmt::format(
                 "line {}: a quote inside the unquoted cell {} does not quote the comma after it; write the whole cell "
                 "in quotes, and double the quotes within it",
                 record.line, quoted(cell)),
             record);
    }
  }

  // Refuses a column whose cells are all in apostrophes; its name may be or not.
  void require_no_apostrophes(std::size_t column) const {
    const CsvRecord* example = nullptr;
    for (std::size_t i = 1; i < records().size(); ++i) {
      const CsvCell& cell = records()[i].cells[column];
      if (is_blank(cell.text)) continue;
      if (cell.quoted || cell.text.size() < 2 || !cell.text.starts_with('\'') || !cell.text.ends_with('\'')) return;
      if (example == nullptr) example = &records()[i];
    }
    if (example == nullptr) return;
    refuse(
        fmt::format(
            "line {}: {} is in apostrophes, as all cells of column {} are, but only double quotes are read as quotes; "
            "write the file with double quotes",
            example->line, quoted(example->cells[column].text), quoted(first().cells[column].text)),
        *example);
  }

  // The names must differ from the values below them, in at least one column that is not text.
  void require_header() const {
    if (records().size() == 1 && !whole_) return;
    std::vector<std::size_t> alike;  // columns
    for (std::size_t column = 0; column < width(); ++column) {
      const CsvCell& name = first().cells[column];
      const CellLook look = look_of(name.text);
      if (look.kind == Kind::empty) continue;
      const CellLook below = records().size() > 1 ? look_of_column(records(), 1, column) : look;
      if (!below.is_typed()) {
        if (records().size() == 1) return;
        continue;
      }
      if (below != look || (is_needlessly_quoted(name) && !is_quoted_below(column))) return;
      alike.push_back(column);
    }
    if (alike.empty() || may_be_names(alike)) return;
    const std::string_view example = first().cells[alike.front()].text;
    refuse(fmt::format(
        "has no header row: line {} contains {}{}, but a CSV file begins with a header row; add one, or, if these are "
        "names, "
        "put them in quotes{}",
        first().line, quoted(example), records().size() > 1 ? ", as the rows below do" : "",
        width() == 1 ? "; subset-sum reads one number on each line, without a name, from a file named .txt" : ""));
  }

  static bool is_needlessly_quoted(const CsvCell& cell) {
    return cell.quoted && cell.text.find_first_of(",\"\r\n") == std::string_view::npos;
  }

  [[nodiscard]] bool is_quoted_below(std::size_t column) const {
    return std::any_of(records().begin() + 1, records().end(),
                       [&](const CsvRecord& record) { return record.cells[column].quoted; });
  }

  [[nodiscard]] static std::optional<int> small_integer(const CsvRecord& record, std::size_t column) {
    const std::string_view text = record.cells[column].text;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }

  static bool is_year(std::optional<int> value) { return value && *value >= 1900 && *value <= 2100; }

  // Whether there are three numbers or more, each one more than the number before.
  [[nodiscard]] bool counts(const CsvRecord& record, const std::vector<std::size_t>& columns) const {
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const std::optional<int> before = small_integer(record, columns[i - 1]);
      const std::optional<int> value = small_integer(record, columns[i]);
      if (!before || !value || *value - 1 != *before) return false;
    }
    return columns.size() > 2;
  }

  // Whether numbers may be names. They may be years, above values that are not all years, or 0, 1, 2, as columns
  // without names are numbered. They may be any numbers if the first column has no name but a value in every row, like
  // row numbers.
  [[nodiscard]] bool may_be_names(const std::vector<std::size_t>& columns) const {
    if (width() == 1 || records().size() == 1) return false;
    const auto begins_empty = [](const CsvRecord& record) { return is_blank(record.cells.front().text); };
    if (begins_empty(first())) return std::none_of(records().begin() + 1, records().end(), begins_empty);
    const auto are_years = [&](const CsvRecord& record) {
      return std::all_of(columns.begin(), columns.end(),
                         [&](std::size_t column) { return is_year(small_integer(record, column)); });
    };
    if (are_years(first())) return !std::all_of(records().begin() + 1, records().end(), are_years);
    return counts(first(), columns) && !counts(records()[1], columns);
  }

  // Refuses a row of units, or of more names, below the names: text above values of another kind, in all such columns.
  void require_one_header() const {
    constexpr std::size_t kMostHeaders = 3;  // besides the first
    for (std::size_t more = 1; more <= kMostHeaders && more + 2 < records().size(); ++more) {
      if (!are_headers(more)) continue;
      refuse(fmt::format(
          "line {} ({}) seems to be a second header row: the rows below it are of other types; keep one header "
          "row",
          records()[1].line, quoted(records()[1].text)));
    }
  }

  [[nodiscard]] bool are_headers(std::size_t more) const {
    std::vector<bool> typed(width());
    for (std::size_t column = 0; column < width(); ++column) {
      typed[column] = look_of_column(records(), more + 1, column).is_typed();
    }
    for (std::size_t i = 1; i <= more; ++i) {
      std::vector<std::string_view> texts;
      bool others = false;
      for (std::size_t column = 0; column < width(); ++column) {
        const std::string_view cell = records()[i].cells[column].text;
        const Kind kind = look_of(cell).kind;
        if (typed[column] && kind != Kind::empty && kind != Kind::text) return false;
        if (typed[column] && kind == Kind::text) texts.push_back(cell);
        others = others || (!typed[column] && kind != Kind::empty);
      }
      // A row of values may also contain a word for a missing value.
      const bool alike =
          std::all_of(texts.begin(), texts.end(), [&](std::string_view text) { return text == texts[0]; });
      if (texts.empty() || (alike && (others || texts.size() > 1))) return false;
    }
    return true;
  }

  std::string path_;
  std::string_view head_;
  std::int64_t line_;
  bool whole_;
  CsvSample sample_;
};

}  // namespace

void require_dialect(const CsvFile& file) {
  const std::int64_t bytes = std::min(kHeadBytes, file.size - file.names);
  std::string head(static_cast<std::size_t>(bytes), '\0');
  file.read(head.data(), bytes, file.names);
  const std::int64_t line = line_of(file, -1, 0, false);
  require_text(file.path, head, line);
  Inspection(file, head, line, file.names + bytes == file.size).run();
}

}  // namespace upsweep::io
