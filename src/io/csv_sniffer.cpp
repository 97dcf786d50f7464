// SPDX-License-Identifier: Apache-2.0
// io/csv_sniffer.cpp: determines how a CSV file is written, from its first rows.
//
// Each delimiter, with each way to quote, splits the first 1,000 rows. A way fits if all rows between the first row of
// the table and its last one have the same number of cells. The way that fits, and whose cells contain the fewest other
// delimiters, is taken. Header rows and the form of numbers are then decided within this table.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/utf8.hpp"
#include "io/csv_dialect.hpp"
#include "io/csv_numbers.hpp"
#include "io/csv_sample.hpp"
#include "io/csv_times.hpp"
#include "io/format.hpp"
#include "io/number_lines.hpp"
#include "io/source.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

using Kind = CellLook::Kind;
using Records = std::vector<CsvRecord>;

struct Delimiter {
  std::string_view text;
  bool is_common = false;  // in text: it separates columns only where all cells are numbers or quoted
  bool is_given = false;   // by an option or the file
};
constexpr Delimiter kDelimiters[] = {{", "}, {"; "}, {","}, {";"}, {"\t"}, {"|"}, {"~"}, {":", true}, {" ", true}};

// How files begin that are not tables of text, in lower case.
struct Beginning {
  std::string_view bytes;
  std::string_view called;
};
constexpr Beginning kOthers[] = {
    {"%pdf-", "a PDF document"},
    {"sqlite format 3", "an SQLite database"},
    {"\u2030png", "an image"},
    {"\u2030hdf", "HDF5"},  // the first byte as Windows-1252
    {"obj\x01", "Avro"},
    {"\x7f"
     "elf",
     "a program"},
    {"{\\rtf", "an RTF document"},
    {"<!doctype", "an HTML page"},
    {"<html", "an HTML page"},
    {"<table", "an HTML page"},
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

void require_text(const std::string& path, std::string_view head, std::size_t begin) {
  const std::string_view text = head.substr(std::min(head.find_first_not_of(" \t", begin), head.size()));
  std::string_view called = text.empty() || !is_json(text) ? "" : "JSON";
  for (const Beginning& other : kOthers) {
    if (ends_in(text.substr(0, other.bytes.size()), other.bytes)) called = other.called;
  }
  if (!called.empty()) {
    throw Error(Code::malformed, fmt::format("{}: is {}, not CSV; save its table as CSV", path, called));
  }
  const std::size_t zero = head.find('\0');
  if (zero == std::string_view::npos) return;
  throw Error(
      Code::malformed,
      fmt::format("{}: line {} has a NUL byte, which text does not have; save the table as .npy, Parquet, Arrow "
                  "IPC or CSV",
                  path, 1 + count_lines(head.substr(0, zero))));
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

std::size_t count_filled(const CsvRecord& record) {
  return static_cast<std::size_t>(std::count_if(record.cells.begin(), record.cells.end(),
                                                [](const CsvCell& cell) { return !is_blank(cell.text); }));
}

bool has_numbers(const CsvRecord& record) {
  return std::any_of(record.cells.begin(), record.cells.end(),
                     [](const CsvCell& cell) { return look_of(cell.text).is_typed(); });
}

// Whether a cell represents a missing value, as in files of databases and instruments. Names of columns are not such.
bool is_missing_mark(std::string_view cell) {
  constexpr std::string_view kWords[] = {"\\n", "?", "n/a", "n.a.", "null", "none", "nan", "\u2013", "\u2014"};
  cell = trimmed(cell);
  if (cell.empty()) return false;
  if (cell.find_first_not_of(cell.front() == '.' ? '.' : '-') == std::string_view::npos) return true;
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return is_in_any_case(cell, word); });
}

// Whether the text is a number with decimals.
bool has_decimals(std::string_view text) {
  text = trimmed(text);
  return text.find_first_of(".,") != std::string_view::npos &&
         text.find_first_not_of("+-0123456789.,") == std::string_view::npos && look_of(text).kind == Kind::number;
}

// Returns the number of a bound such as <0.5; an empty text for any other text.
std::string_view number_of_bound(std::string_view text) {
  text = trimmed(text);
  const std::size_t number = std::min(text.find_first_not_of("<>="), text.size());
  const std::string_view rest = trimmed(text.substr(number));
  return number > 0 && text.front() != '=' && look_of(rest).kind == Kind::number ? rest : std::string_view();
}

// Whether a record has text above values of another kind, in at least one column, and no such value itself.
bool is_header(const Records& records, std::size_t place) {
  const CsvRecord& record = records[place];
  if (has_numbers(record)) return false;
  for (std::size_t column = 0; column < record.cells.size(); ++column) {
    const std::string_view text = record.cells[column].text;
    if (look_of(text).kind != Kind::text || is_missing_mark(text)) continue;
    if (look_of_column(records, place + 1, column).is_typed()) return true;
  }
  return false;
}

// Whether the text of a cell contains a character that separates the cells of other files.
bool has_other_delimiter(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ';' || text[i] == '\t' || text[i] == '|' || text[i] == '~') return true;
    // In prose a blank follows a comma; in numbers digits surround it.
    const bool is_written = text[i] == ',' && i + 1 < text.size() && text[i + 1] != ' ';
    const bool in_number = is_written && i > 0 && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (is_written && !in_number) return true;
  }
  return false;
}

// A way to split the text, and the table that it finds.
struct Candidate {
  const Delimiter* delimiter;
  CsvMarks marks;
  CsvSample sample;
  std::size_t width = 0;  // cells of most rows
  std::size_t first = 0;  // the table's records are [first, last)
  std::size_t last = 0;
  std::size_t misfit = 0;  // the first record of the table with another number of cells; `last` if all fit
  std::size_t other = 0;   // where another table with equal rows seems to begin; 0: nowhere
  bool has_blank_rows = false;
  bool has_comments = false;
  bool has_end_marks = false;
  bool has_row_names = false;
  double clean = 0;  // the part of cells that contain no other delimiter

  [[nodiscard]] const Records& records() const { return sample.records; }
  [[nodiscard]] bool fits() const { return width > 0 && misfit == last && !sample.quote_fault; }
};

class Sniffer {
 public:
  Sniffer(const CsvSniffed& text, const CsvOptions& options) : text_(text), options_(options) {
    whole_ = std::ssize(text.head) == text.size;
  }

  CsvDialect run() {
    pass_lines();
    require_text(text_.path, text_.head, begin_);
    std::vector<Candidate> candidates = all_candidates();
    const Candidate& chosen = choose(candidates);
    return dialect_of(chosen);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Code::malformed, fmt::format("{}: {}", text_.path, what));
  }
  [[noreturn]] void refuse(const std::string& what, const CsvRecord& record, std::int64_t row) const {
    throw RowError(Code::malformed, fmt::format("{}: {}", text_.path, what), {text_.path, row, record.line});
  }

  [[nodiscard]] std::string_view rest() const { return text_.head.substr(begin_); }

  void pass_line() {
    const std::size_t end = rest().find_first_of("\r\n");
    begin_ += end == std::string_view::npos ? rest().size() : end + (rest().substr(end).starts_with("\r\n") ? 2U : 1U);
    ++line_;
  }

  // Passes the byte order mark, the lines that an option skips, and the line "sep=;", which Excel writes as an
  // instruction for itself.
  void pass_lines() {
    begin_ = size_of_mark(text_.head);
    for (std::int64_t i = 0; i < options_.skip.value_or(0) && !rest().empty(); ++i) pass_line();
    while (!rest().empty() && ends_line(rest().front())) pass_line();
    std::string_view first = rest().substr(0, rest().find_first_of("\r\n"));
    if (first.size() > 1 && first.starts_with('"') && first.ends_with('"')) first = first.substr(1, first.size() - 2);
    constexpr std::string_view kSeparator = "sep=";
    if (first.size() == kSeparator.size() + 1 && ends_in(first.substr(0, kSeparator.size()), kSeparator) &&
        first.size() < rest().size()) {
      separator_ = first.back();
      pass_line();
      while (!rest().empty() && ends_line(rest().front())) pass_line();
    }
    if (rest().find_first_not_of(" \t\r\n") == std::string_view::npos) refuse_empty();
  }

  [[noreturn]] void refuse_empty() const {
    refuse(options_.skip || options_.skip_end ? "has no rows besides those that --skip and --skip-end leave out"
                                              : "has no header row, and no other row");
  }

  [[nodiscard]] std::vector<Delimiter> delimiters() const {
    const std::string_view given = !options_.delimiter.empty() ? std::string_view(options_.delimiter)
                                   : separator_ != '\0'        ? std::string_view(&separator_, 1)
                                                               : std::string_view();
    if (!given.empty()) return {{given, false, true}};
    // Rows are one cell with any delimiter that does not occur. A comma stands for all of these.
    std::vector<Delimiter> all;
    std::copy_if(std::begin(kDelimiters), std::end(kDelimiters), std::back_inserter(all), [&](const Delimiter& each) {
      return each.text == "," || rest().find(each.text) != std::string_view::npos;
    });
    return all;
  }

  // The ways to quote, from the usual to the unusual one.
  [[nodiscard]] std::vector<CsvMarks> quotings() const {
    CsvMarks marks;
    if (options_.quote) marks.quote = options_.quote->empty() ? '\0' : options_.quote->front();
    if (options_.escape && !options_.escape->empty() && options_.escape->front() != marks.quote) {
      marks.escape = options_.escape->front();
    }
    if (!options_.escape && are_escaped(marks.quote)) marks.escape = '\\';
    std::vector<CsvMarks> all{marks};
    const bool has_escapes = text_.head.find(std::string{'\\', marks.quote}) != std::string_view::npos ||
                             (!options_.quote && text_.head.find("\\'") != std::string_view::npos);
    if (!options_.escape && marks.escape == 0 && has_escapes) {
      all.push_back(marks);
      all.back().escape = '\\';
    }
    if (!options_.quote && text_.head.find('\'') != std::string_view::npos) {
      for (std::size_t i = 0, usual = all.size(); i < usual; ++i) {
        all.push_back(all[i]);
        all.back().quote = '\'';
      }
    }
    for (std::size_t i = 0, usual = all.size(); i < usual; ++i) {
      if (all[i].escape != 0 || are_doubled(all[i].quote)) continue;
      all.push_back(all[i]);
      all.back().rule = QuoteRule::bare;
    }
    return all;
  }

  // Whether a backslash precedes each quote.
  [[nodiscard]] bool are_escaped(char quote) const {
    bool any = false;
    for (std::size_t at = rest().find(quote); at != std::string_view::npos; at = rest().find(quote, at + 1)) {
      if (at == 0 || rest()[at - 1] != '\\') return false;
      any = true;
    }
    return any;
  }

  // Whether quotes are doubled somewhere: three of them follow each other, or two are inside a word.
  [[nodiscard]] bool are_doubled(char quote) const {
    const std::string_view text = rest();
    const std::string two(2, quote);
    for (std::size_t at = text.find(two, 1); at != std::string_view::npos && at + 2 < text.size();
         at = text.find(two, at + 1)) {
      if (text[at + 2] == quote) return true;
      const auto is_inside = [](char c) { return is_digit(c) || is_ascii_letter(c) || c == ' '; };
      if (is_inside(text[at - 1]) && is_inside(text[at + 2])) return true;
    }
    return false;
  }

  std::vector<Candidate> all_candidates() {
    std::vector<Candidate> all;
    const std::vector<CsvMarks> ways = quotings();
    delimiters_ = delimiters();
    for (const Delimiter& delimiter : delimiters_) {
      for (CsvMarks marks : ways) {
        marks.delimiter = delimiter.text;
        Candidate candidate{&delimiter, marks,
                            split_sample(rest(), marks, line_, whole_, options_.ragged != Ragged::refuse)};
        find_table(candidate);
        if (marks.rule == QuoteRule::bare && may_swallow_rows(candidate)) continue;
        all.push_back(std::move(candidate));
      }
    }
    return all;
  }

  // Quotes that are not doubled can swallow rows: cells of several lines are not accepted then, nor few quoted cells.
  static bool may_swallow_rows(const Candidate& c) {
    constexpr std::ptrdiff_t kLeastQuoted = 3;
    std::ptrdiff_t cells = 0;
    for (const CsvRecord& record : c.records()) {
      if (record.text.find_first_of("\r\n") != std::string_view::npos) return true;
      cells += std::count_if(record.cells.begin(), record.cells.end(), [](const CsvCell& cell) { return cell.quoted; });
    }
    return cells < kLeastQuoted;
  }

  [[nodiscard]] bool is_comment(const CsvRecord& record) const {
    if (options_.comment) return !options_.comment->empty() && record.text.starts_with(*options_.comment);
    return record.text.starts_with('#');
  }

  // Whether a line of one cell is a comment and not a name such as #hits.
  [[nodiscard]] bool is_sentence(const Candidate& c, const CsvRecord& record) const {
    const auto next = static_cast<std::size_t>(record.row) + 1;
    const bool several = next < c.records().size() && is_comment(c.records()[next]);
    return is_comment(record) && (options_.comment || record.text.starts_with("# ") || several || record.row > 0);
  }

  // Whether the first line is a comment with the table's number of cells: names are below it.
  [[nodiscard]] bool is_comment_above_names(const Candidate& c, const CsvRecord& record) const {
    return record.row == 0 && record.text.starts_with('#') && is_comment(record) && c.records().size() > 2 &&
           c.records()[1].cells.size() == c.width && is_header(c.records(), 1);
  }

  // Whether the sample contains all rows of the text.
  [[nodiscard]] bool is_complete(const Candidate& c) const {
    return whole_ && rest().find_first_not_of("\r\n", c.sample.end) == std::string_view::npos;
  }

  // Returns the last lines of a text that the sample does not contain as a whole.
  [[nodiscard]] std::string_view last_lines() const {
    constexpr int kLines = 200;  // the sample of a tail must contain all of its rows
    const std::string_view tail = whole_ ? rest() : text_.tail;
    std::size_t begin = tail.size();
    for (int lines = 0; lines <= kLines; ++lines) {
      const std::size_t end = begin == 0 ? std::string_view::npos : tail.rfind('\n', begin - 1);
      if (end == std::string_view::npos) return tail;
      begin = end;
    }
    return tail.substr(begin + 1);
  }

  // Finds the rows that have the most frequent number of cells, without the lines above and below.
  void find_table(Candidate& c) const {
    const Records& records = c.records();
    if (records.empty()) return;
    std::map<std::size_t, std::size_t> cells;  // by the number of cells of a row
    for (const CsvRecord& record : records) {
      if (is_comment(record) || is_blank(record.text)) continue;
      cells[record.cells.size()] += record.cells.size();
    }
    if (cells.empty()) return;
    c.width = std::max_element(cells.begin(), cells.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
              })->first;
    if (find_other_table(c)) return;
    const auto fits = [&](const CsvRecord& record) { return record.cells.size() == c.width; };
    c.first = static_cast<std::size_t>(std::find_if(records.begin(), records.end(),
                                                    [&](const CsvRecord& record) {
                                                      return fits(record) &&
                                                             !(c.width == 1 && is_sentence(c, record)) &&
                                                             !is_comment_above_names(c, record);
                                                    }) -
                                       records.begin());
    c.last = records.size();
    const bool may_have_names = !options_.header || !options_.header->empty();
    if (!may_have_names || !pass_pairs(c)) {
      if (may_have_names) {
        find_end_marks(c);
        find_row_names(c);
      }
      if (c.first > 0 && !may_be_titles(c)) c.first = 0;
    }
    pass_padded_titles(c);
    pass_padded_values(c);
    find_last(c);
    find_misfit(c);
  }

  // Finds the first row of the table with another number of cells.
  void find_misfit(Candidate& c) const {
    const Records& records = c.records();
    const auto fits = [&](const CsvRecord& record) { return record.cells.size() == c.width; };
    c.misfit = c.first;
    std::size_t dirty = 0;
    std::size_t filled = 0;
    for (std::size_t i = c.first; i < c.last; ++i) {
      const CsvRecord& record = records[i];
      const bool is_short = (c.has_end_marks || c.has_row_names) && record.cells.size() + 1 == c.width;
      if (!fits(record) && !(is_short && i == c.first)) {
        if (is_blank(record.text))
          c.has_blank_rows = true;
        else if (is_comment(record))
          c.has_comments = true;
        else
          break;
      }
      for (const CsvCell& cell : record.cells) {
        if (cell.text.empty()) continue;
        ++filled;
        dirty += !cell.quoted && has_other_delimiter(cell.text) ? 1U : 0U;
      }
      c.misfit = i + 1;
    }
    c.clean = filled == 0 ? 1 : 1 - static_cast<double>(dirty) / static_cast<double>(filled);
    if (c.has_end_marks && c.fits()) --c.width;
  }

  // Ends the table above another table, whose rows have another number of cells and begin with names. Without an option
  // for rows of another length, the reader of rows refuses these names.
  bool find_other_table(Candidate& c) const {
    const Records& records = c.records();
    if (options_.ragged == Ragged::refuse || !is_complete(c)) return false;
    const auto end_of_run = [&](std::size_t from) {
      const auto differs = [&](const CsvRecord& record) { return record.cells.size() != records[from].cells.size(); };
      const auto begin = records.begin() + static_cast<std::ptrdiff_t>(from);
      return static_cast<std::size_t>(std::find_if(begin, records.end(), differs) - records.begin());
    };
    const std::size_t other = end_of_run(0);
    if (other < 2 || other == records.size() || end_of_run(other) < records.size()) return false;
    const std::size_t width = records.front().cells.size();
    if (width < 2 || records[other].cells.size() < 2 || !is_header(records, other)) return false;
    c.width = width;
    c.last = other;
    find_misfit(c);
    return true;
  }

  // A delimiter ends every row except the header row: the header row has one cell less, and the last cells are empty.
  static void find_end_marks(Candidate& c) {
    const Records& records = c.records();
    if (c.first != 1 || records[0].cells.size() + 1 != c.width || records.size() < 2) return;
    c.has_end_marks = std::all_of(records.begin() + 1, records.end(), [&](const CsvRecord& record) {
      return record.cells.size() == c.width && record.cells.back().text.empty() && !record.cells.back().quoted;
    });
    if (c.has_end_marks) c.first = 0;
  }

  // R writes names of rows in a first column that has no name: all of the header row and of this column are in quotes.
  static void find_row_names(Candidate& c) {
    const Records& records = c.records();
    if (c.first != 1 || records[0].cells.size() + 1 != c.width || records.size() < 2) return;
    const auto is_quoted = [](const CsvCell& cell) { return cell.quoted; };
    c.has_row_names = std::all_of(records[0].cells.begin(), records[0].cells.end(), is_quoted) &&
                      std::all_of(records.begin() + 1, records.end(),
                                  [&](const CsvRecord& record) { return record.cells.front().quoted; }) &&
                      records[1].empty_lines == records[0].empty_lines && !is_header(records, 1);
    if (c.has_row_names) c.first = 0;
  }

  // Passes rows above the header row that have one filled cell, or none, as spreadsheets write titles.
  static void pass_padded_titles(Candidate& c) {
    const Records& records = c.records();
    if (c.width < 2 || c.first >= records.size()) return;
    const auto is_title = [](const CsvRecord& record) { return count_filled(record) < 2; };
    const auto begin = records.begin() + static_cast<std::ptrdiff_t>(c.first);
    const auto table = std::find_if_not(begin, records.end(), is_title);
    if (table == records.end() || table == begin || table - begin > static_cast<std::ptrdiff_t>(kMostTitles)) return;
    const auto is_empty = [](const CsvRecord& record) { return count_filled(record) == 0; };
    const auto place = static_cast<std::size_t>(table - records.begin());
    if (has_rows_above(records, place)) return;
    const bool parted = std::any_of(begin, table, is_empty);
    const bool is_plain = c.width > 2 && are_names(*table) && !is_blank(begin->cells[0].text);
    if (parted || is_header(records, place) || is_plain) c.first = place;
  }

  // Passes rows with several filled cells above an empty row, if the names below that row fill more cells than each.
  static void pass_padded_values(Candidate& c) {
    const Records& records = c.records();
    const std::size_t most = std::min(records.size(), c.first + kMostTitles);
    std::size_t filled = 0;
    for (std::size_t i = c.first; c.width > 2 && i + 1 < most; ++i) {
      const std::size_t here = count_filled(records[i]);
      const std::size_t below = count_filled(records[i + 1]);
      if (here == 0 && below == c.width && filled < below && is_header(records, i + 1)) {
        c.first = i + 1;
        return;
      }
      filled = std::max(filled, here);
    }
  }

  // Passes pairs such as Balance,100.50, also if the table has two columns. An empty line and names are below them.
  static bool pass_pairs(Candidate& c) {
    const Records& records = c.records();
    const auto is_pair = [&](const CsvRecord& record) {
      return record.cells.size() <= c.width && count_filled(record) < 3 &&
             look_of(record.cells[0].text).kind == Kind::text && !has_other_delimiter(record.cells[0].text);
    };
    for (std::size_t i = 1; c.width > 1 && i + 1 < records.size() && i <= kMostTitles; ++i) {
      if (!is_pair(records[i - 1])) return false;
      const bool parted = records[i].empty_lines > records[i - 1].empty_lines;
      if (!parted || records[i].cells.size() != c.width || !begins_table(records, i)) continue;
      const Records above(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(i));
      const bool any_fits =
          std::any_of(above.begin(), above.end(), [&](const auto& each) { return each.cells.size() == c.width; });
      const bool are_padded = std::all_of(above.begin(), above.end(), [&](const CsvRecord& record) {
        return count_filled(record) < count_filled(records[i]);
      });
      // Values below the names may also continue rows above the empty line, unless they are of another kind.
      const bool differs = look_of_column(records, i + 1, 0).is_typed() || has_numbers(above[0]);
      if (!are_padded && !differs) continue;
      if (is_header(above, 0) && above.size() > 2) {
        if (any_fits) c.other = i;
        return false;
      }
      c.first = i;
      return true;
    }
    return false;
  }

  // Whether a record has names above values. Years may be names.
  static bool begins_table(const Records& records, std::size_t place) {
    if (is_header(records, place)) return true;
    bool has_text = false;
    bool has_other_values = false;  // below years
    for (std::size_t column = 0; column < records[place].cells.size(); ++column) {
      const CellLook look = look_of(records[place].cells[column].text);
      has_text = has_text || look.kind == Kind::text;
      if (!look.is_typed()) continue;
      if (!is_year(small_integer(records[place], column))) return false;
      for (std::size_t i = place + 1; i < records.size(); ++i) {
        if (column >= records[i].cells.size()) continue;
        const Kind below = look_of(records[i].cells[column].text).kind;
        if (below != Kind::empty && below != Kind::number) return false;
        has_other_values = has_other_values || (below == Kind::number && !is_year(small_integer(records[i], column)));
      }
    }
    return has_text && has_other_values;
  }

  // Whether at least three cells are filled, with text only, and no two are equal.
  static bool are_names(const CsvRecord& record) {
    std::set<std::string_view> names;
    for (const CsvCell& cell : record.cells) {
      if (!is_blank(cell.text) && !names.insert(cell.text).second) return false;
    }
    return names.size() > 2 && !has_numbers(record);
  }

  // Whether more lines above a place than below it seem to be rows with another delimiter.
  static bool has_rows_above(const Records& records, std::size_t place) {
    const auto is_row = [](const CsvRecord& record) { return has_other_delimiter(record.cells[0].text); };
    const auto rows = std::count_if(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(place), is_row);
    return rows >= std::ssize(records) - static_cast<std::ptrdiff_t>(place);
  }

  // Whether lines fill less than half of the columns, and no two lines in sequence have equal numbers of cells.
  static bool are_narrow(const Candidate& c, const Records& above) {
    const auto have_equal_lengths = [](const CsvRecord& a, const CsvRecord& b) {
      return a.cells.size() == b.cells.size();
    };
    return std::adjacent_find(above.begin(), above.end(), have_equal_lengths) == above.end() &&
           std::all_of(above.begin(), above.end(),
                       [&](const CsvRecord& record) { return 2 * count_filled(record) < c.width; });
  }

  // Whether the lines above the table are titles or comments.
  [[nodiscard]] bool may_be_titles(const Candidate& c) const {
    const Records& records = c.records();
    if (c.first > kMostTitles || c.first >= records.size()) return false;
    const auto begin = records.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(c.first);
    if (std::all_of(begin, end, [&](const CsvRecord& record) { return is_comment(record); })) return true;
    const Records above(begin, end);
    const bool is_table = is_header(above, 0);  // names and values are another table
    const bool parted = records[c.first].empty_lines > records[c.first - 1].empty_lines;
    const bool are_pairs = std::all_of(
        begin, end, [&](const CsvRecord& record) { return record.cells.size() < c.width && count_filled(record) < 3; });
    const bool has_more_rows = above.size() > 2 && above.size() > records.size() - c.first;
    if (is_table && (look_of_column(above, 1, 0).is_typed() || has_more_rows)) return false;
    if (c.width > 2 && parted && are_pairs && begins_table(records, c.first)) return true;
    if (c.width < 2 || (is_table && !are_narrow(c, above)) || has_rows_above(records, c.first)) return false;
    const bool are_shorter = std::all_of(
        begin, end, [&](const CsvRecord& record) { return record.cells.size() < c.width || count_filled(record) < 2; });
    const bool are_words = std::none_of(begin, end, [](const CsvRecord& record) {
      // "01.01.2024 - 31.01.2024" consists of words.
      const CellLook look = look_of(record.cells[0].text);
      return record.cells.size() == 1 && look.is_typed() && look.shape.find(' ') == std::string::npos;
    });
    return are_shorter && are_words && (parted || is_header(records, c.first));
  }

  // Leaves out the lines below the table: other numbers of cells, after an empty line or with a single filled cell.
  void find_last(Candidate& c) const {
    const Records& records = c.records();
    if (c.width < 2 || !is_complete(c)) return;
    std::size_t last = c.last;
    while (last > c.first + 1 && records[last - 1].cells.size() != c.width) --last;
    if (last == c.last || c.last - last > kMostTitles || last < c.first + 2) return;
    if (are_notes(c, Records(records.begin() + static_cast<std::ptrdiff_t>(c.first), records.end()), last - c.first))
      c.last = last;
  }

  // Whether the records from `last` on are notes below a table, which begins with the first record.
  [[nodiscard]] bool are_notes(const Candidate& c, const Records& records, std::size_t last) const {
    const bool parted = records[last].empty_lines > records[last - 1].empty_lines;
    const auto begin = records.begin() + static_cast<std::ptrdiff_t>(last);
    const bool has_remarks =
        std::any_of(records.begin(), begin, [](const CsvRecord& record) { return is_remark(record.cells[0].text); });
    const auto may_be_note = [&](const CsvRecord& record) {
      const bool begins_remark = is_remark(record.cells[0].text) && !has_remarks;
      if (record.cells.size() > c.width) {  // two such rows may be another table
        const auto is_equal = [&](const CsvRecord& each) { return each.cells.size() == record.cells.size(); };
        return parted && begins_remark && std::count_if(begin, records.end(), is_equal) == 1;
      }
      const auto quotes = std::count(record.text.begin(), record.text.end(), '"');
      return quotes == 0 || (begins_remark && record.cells[0].quoted && quotes == 2);
    };
    if (!std::all_of(begin, records.end(), may_be_note)) return false;
    if (parted) return true;
    const bool are_single = std::all_of(begin, records.end(), [](const CsvRecord& record) {
      return count_filled(record) < 2 && look_of(record.cells[0].text).kind == Kind::text;
    });
    const std::string_view text = whole_ ? text_.head : text_.tail;
    const bool ends = !text.empty() && ends_line(text.back());
    return are_single && (ends || look_of_column(records, 1, 0).kind != Kind::text);
  }

  // Whether a text is a remark such as "Source: ONS, London", or "* estimated".
  static bool is_remark(std::string_view text) {
    const std::size_t colon = text.find(": ");
    const bool has_label = colon != std::string_view::npos && is_ascii_letter(text.front());
    return look_of(text).kind == Kind::text && (has_label || text.starts_with("* ") || text.starts_with('('));
  }

  // Whether a delimiter that is common in text separates the cells of this one.
  static bool separates(const Candidate& c) {
    if (!c.delimiter->is_common) return true;
    if (c.last < c.first + 2) return false;
    bool are_moments = true;  // times have colons, and timestamps have blanks
    for (std::size_t i = c.first + 1; i < c.last && are_moments; ++i) {
      Moment moment;
      are_moments = parse_moment(trimmed(c.records()[i].text), moment);
    }
    if (are_moments || (c.delimiter->text == ":" && has_split_times(c))) return false;
    if (c.width > 2 && has_columns_of_values(c)) return true;
    for (std::size_t i = c.first + 1; i < c.last; ++i) {
      for (const CsvCell& cell : c.records()[i].cells) {
        if (!cell.quoted && look_of(cell.text).kind == Kind::text) return false;
      }
    }
    return true;
  }

  // Whether each row has a cell such as "2024-01-02 03": the colon after it is part of a time.
  static bool has_split_times(const Candidate& c) {
    const auto is_split = [](const CsvCell& cell) {
      const std::size_t blank = cell.text.rfind(' ');
      Moment moment;
      return blank != std::string_view::npos && !parse_moment(trimmed(cell.text), moment) &&
             parse_moment(trimmed(cell.text.substr(0, blank)), moment) && moment.has_date && !moment.has_time;
    };
    return std::all_of(c.records().begin() + static_cast<std::ptrdiff_t>(c.first),
                       c.records().begin() + static_cast<std::ptrdiff_t>(c.last), [&](const CsvRecord& record) {
                         return std::any_of(record.cells.begin(), record.cells.end(), is_split);
                       });
  }

  // Whether at least two columns contain values only, which words of a text do not.
  static bool has_columns_of_values(const Candidate& c) {
    return c.last > c.first + 2 && count_columns_of_values(c) > 1;
  }

  static std::size_t count_columns_of_values(const Candidate& c) {
    std::size_t typed = 0;
    for (std::size_t column = 0; column < c.width; ++column) {
      typed += look_of_column(c.records(), c.first + 1, column).is_typed() ? 1U : 0U;
    }
    return typed;
  }

  // Whether apostrophes quote cells. Each cell that begins with one then ends with one. Cells of several lines must be
  // below names in apostrophes, because two words such as 'tis could also be the ends of such a cell.
  static bool quotes_cells(const Candidate& c) {
    if (c.marks.quote != '\'' || c.marks.rule != QuoteRule::doubled || c.records().empty()) return false;
    const std::vector<CsvCell>& names = c.records()[c.first].cells;
    const bool are_names_quoted =
        std::all_of(names.begin(), names.end(), [](const CsvCell& cell) { return cell.quoted; });
    bool any = false;
    for (std::size_t column = 0; column < c.width; ++column) {
      std::size_t quoted = 0;
      bool has_needless = false;
      bool has_others = false;
      for (std::size_t i = c.first; i < c.last; ++i) {
        if (column >= c.records()[i].cells.size()) continue;
        const CsvCell& cell = c.records()[i].cells[column];
        if (!cell.quoted && cell.text.starts_with('"')) return false;
        if (cell.quoted && !are_names_quoted && cell.text.find_first_of("\r\n") != std::string_view::npos) return false;
        has_others = has_others || (!cell.quoted && i > c.first && look_of(cell.text).kind == Kind::text);
        if (!cell.quoted || cell.text.empty()) continue;
        ++quoted;
        const bool is_needed = cell.text.find(c.marks.delimiter) != std::string_view::npos ||
                               cell.text.find_first_of("'\r\n") != std::string_view::npos;
        has_needless = has_needless || !is_needed;
      }
      // A writer that quotes words without need quotes all words of a column. 'so' among other words is text.
      if (has_needless && (has_others || (quoted < 2 && !are_names_quoted))) return false;
      any = any || quoted > 0;
    }
    return any;
  }

  static bool quotes_all(const Candidate& c) {
    return std::all_of(c.records().begin() + static_cast<std::ptrdiff_t>(c.first),
                       c.records().begin() + static_cast<std::ptrdiff_t>(c.last), [](const CsvRecord& record) {
                         return std::all_of(record.cells.begin(), record.cells.end(),
                                            [](const CsvCell& cell) { return cell.quoted; });
                       });
  }

  // Whether a character occurs in cells without quotes, and each of them follows a backslash, as do the quotes within
  // cells. No backslash may precede another character, because it would be a part of the cell.
  static bool has_escaped(const Candidate& c, char quote) {
    bool any = false;
    for (std::size_t i = c.first; i < c.last; ++i) {
      for (const CsvCell& cell : c.records()[i].cells) {
        const std::string_view text = cell.text;
        for (std::size_t at = 0; at < text.size(); ++at) {
          if (text[at] == quote || text[at] == c.marks.quote) return false;
          if (text[at] != '\\') continue;
          ++at;
          if (at == text.size() || (text[at] != quote && text[at] != c.marks.quote && text[at] != '\\')) return false;
          any = any || (!cell.quoted && text[at] == quote);
        }
      }
    }
    return any;
  }

  const Candidate& choose(const std::vector<Candidate>& candidates) const {
    const auto is_better = [](const Candidate& a, const Candidate& b) { return a.clean > b.clean + kTie; };
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates) {
      if (!c.fits() || c.width < 2 || !separates(c) || is_worse_quoting(candidates, c)) continue;
      if (best == nullptr || is_better(c, *best)) best = &c;
    }
    if (best != nullptr) {
      require_single(candidates, *best);
      require_single_table(*best);
      require_no_decimal_comma(*best);
      return *best;
    }
    const Candidate& usual = usual_of(candidates);
    const auto has_no_row = [](const Candidate& c) { return c.records().empty(); };
    // The reader of rows reports the first row, which does not end.
    if (std::all_of(candidates.begin(), candidates.end(), has_no_row)) return usual;
    if (options_.ragged != Ragged::refuse) return widest(candidates);
    for (const Candidate& c : candidates) {
      const bool is_usual = !options_.delimiter.empty() || separator_ != '\0' || c.delimiter->text == ",";
      if (is_usual && c.fits() && c.width == 1 && !is_worse_quoting(candidates, c) && !has_more_cells(candidates, c)) {
        if (options_.delimiter.empty()) {
          require_no_rare_delimiter(c);
          if (!options_.header) require_no_common_delimiter(candidates);
        }
        return c;
      }
    }
    const Candidate& likely = widest(candidates).width > 1 ? widest(candidates) : usual;
    // The reader of rows reports a quote that is out of order, with its row.
    if (likely.sample.quote_fault && likely.marks.are_plain() && likely.misfit == likely.last) return likely;
    refuse_misfit(likely);
  }

  // Whether a more usual way to quote fits as well. Apostrophes that quote cells are preferred to the usual quotes, and
  // so are backslashes before all quotes.
  static bool is_worse_quoting(const std::vector<Candidate>& candidates, const Candidate& c) {
    const auto is_preferred = [](const Candidate& a, const Candidate& b) {
      if (a.delimiter != b.delimiter || !a.fits() || !b.fits()) return false;
      if (a.marks.quote != b.marks.quote) {
        return a.marks.quote == '\'' && quotes_cells(a) && (a.width == b.width || quotes_all(a));
      }
      if (a.width != b.width) return false;
      return a.marks.escape != 0 && b.marks.escape == 0 && a.marks.rule == QuoteRule::doubled &&
             (has_escaped(b, b.marks.quote) || has_escaped(b, '\''));
    };
    const auto preferred = [&](const Candidate& other) { return is_preferred(other, c); };
    if (std::any_of(candidates.begin(), candidates.end(), preferred)) return true;
    for (const Candidate& other : candidates) {
      if (&other == &c) return false;  // the others are less usual
      if (other.delimiter != c.delimiter || !other.fits() || other.width != c.width) continue;
      if (!is_preferred(c, other)) return true;
    }
    return false;
  }

  // Refuses a text that two delimiters split equally well.
  void require_single(const std::vector<Candidate>& candidates, const Candidate& best) const {
    for (const Candidate& c : candidates) {
      if (c.delimiter == best.delimiter || !c.fits() || c.width < 2 || !separates(c)) continue;
      if (c.delimiter->text.front() == best.delimiter->text.front() || best.clean - c.clean > kDoubt) continue;
      if (best.delimiter->is_common != c.delimiter->is_common) continue;
      refuse(fmt::format("{} and {} split its rows equally well; choose with --delimiter '{}' or --delimiter '{}'",
                         delimiter_name(best.delimiter->text), delimiter_name(c.delimiter->text),
                         printable(best.delimiter->text, 20), printable(c.delimiter->text, 20)));
    }
  }

  // Refuses names and values below an empty line and another table with an equal number of cells.
  void require_single_table(const Candidate& c) const {
    if (c.other == 0 || options_.header || options_.ragged != Ragged::refuse) return;
    const CsvRecord& record = c.records()[c.other];
    refuse(fmt::format("line {}: {} are names below an empty line, so another table seems to begin there; leave out "
                       "the lines of one with --skip {} or --skip-end, or, if it is one table, add --header yes",
                       record.line, quoted(record.text), record.line - 1),
           record, record.row - 1);
  }

  // Refuses rows such as 14,50 below a single line: they may be the numbers of one column, which this line names.
  void require_no_decimal_comma(const Candidate& c) const {
    if (c.delimiter->text != "," || !options_.delimiter.empty() || separator_ != '\0') return;
    if (c.width != 2 || c.first != 1 || c.records()[0].cells.size() != 1 || is_sentence(c, c.records()[0])) return;
    const auto begin = c.records().begin() + 1;
    const auto end = c.records().begin() + static_cast<std::ptrdiff_t>(c.last);
    const bool may_be_numbers = std::all_of(begin, end, [](const CsvRecord& record) {
      const std::string_view text = without_exponent(record.text);
      return text.find_first_not_of("0123456789,", text.starts_with('-') ? 1 : 0) == std::string_view::npos;
    });
    if (!may_be_numbers) return;
    refuse(
        fmt::format("line {}: {} may be two columns, or one number with a decimal comma; choose with --delimiter ',' "
                    "or --delimiter ';'",
                    begin->line, quoted(begin->text)),
        *begin, 0);
  }

  // Whether most rows have several cells with another delimiter, so that this single column is improbable.
  static bool has_more_cells(const std::vector<Candidate>& candidates, const Candidate& c) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
      if (other.delimiter->is_common || !other.marks.are_plain()) return false;
      if (other.sample.quote_fault) {
        const std::string_view front = other.records().empty() ? std::string_view() : other.records().front().text;
        return front.empty() || other.records().front().cells.size() > 1;
      }
      if (other.width < 2 || other.records().size() < 2) return false;
      const auto has_several = [](const CsvRecord& record) { return record.cells.size() > 1; };
      const auto several = std::count_if(other.records().begin() + 1, other.records().end(), has_several);
      const bool is_named = has_several(other.records().front()) && !c.records().front().cells.front().quoted;
      return is_named && 2 * several >= std::ssize(other.records()) - 1;
    });
  }

  // The commas, with the usual quotes.
  [[nodiscard]] static const Candidate& usual_of(const std::vector<Candidate>& candidates) {
    for (const Candidate& c : candidates) {
      if (c.delimiter->text == ",") return c;
    }
    return candidates.front();
  }

  // The way that splits most rows into equal numbers of cells.
  [[nodiscard]] static const Candidate& widest(const std::vector<Candidate>& candidates) {
    const auto fitting = [](const Candidate& c) {
      const auto fits = [&](const CsvRecord& record) { return record.cells.size() == c.width; };
      const auto rows = static_cast<double>(std::count_if(c.records().begin(), c.records().end(), fits));
      const bool is_plausible = c.width > 1 && !c.delimiter->is_common && c.marks.rule != QuoteRule::bare;
      return is_plausible ? rows * c.clean * (c.sample.quote_fault ? 0.5 : 1) * (c.marks.are_plain() ? 1 : 0.99) : 0;
    };
    const Candidate* best = &usual_of(candidates);
    for (const Candidate& c : candidates) {
      if (fitting(c) > fitting(*best) * 1.05) best = &c;
    }
    return *best;
  }

  [[noreturn]] void refuse_misfit(const Candidate& c) const {
    const Records& records = c.records();
    const bool is_assumed = c.marks.delimiter != "," && !c.delimiter->is_given;
    const std::string with =
        is_assumed ? fmt::format(", if {} separate columns", delimiter_name(c.delimiter->text)) : "";
    if (records.empty()) refuse_empty();
    const CsvRecord& first = records[c.first];
    const auto fits = [&](const CsvRecord& each) { return each.cells.size() == c.width; };
    const auto fitting = std::count_if(records.begin(), records.end(), fits);
    const bool is_first = c.misfit == c.first && fitting > 2 && 2 * fitting > std::ssize(records);
    const std::size_t place = is_first ? c.first : first_of_other_length(records, c.first);
    const CsvRecord& record = records[std::min(place, records.size() - 1)];
    const std::int64_t row =
        record.row - static_cast<std::int64_t>(c.first) - 1 + (c.width == 1 ? record.empty_lines : 0);
    if (is_first) {
      refuse(fmt::format(
                 "line {} has {}, and most rows have {}{}; if it is a title, skip it with --skip, otherwise correct "
                 "the row",
                 record.line, count_cells(record), c.width, with),
             record, row);
    }
    refuse(fmt::format("line {} has {}, and line {} has {}{}; {}", record.line, count_cells(record), first.line,
                       first.cells.size(), with, why_ragged(record)),
           record, row);
  }

  // Returns the first record after `first` whose number of cells differs from that record's.
  static std::size_t first_of_other_length(const Records& records, std::size_t first) {
    const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first);
    return static_cast<std::size_t>(
        std::find_if(begin, records.end(),
                     [&](const CsvRecord& record) { return record.cells.size() != begin->cells.size(); }) -
        records.begin());
  }

  // Returns the probable reason for a row's number of cells, and the remedy.
  static std::string why_ragged(const CsvRecord& record) {
    const auto any = [&](auto is_it) {
      return std::any_of(record.cells.begin(), record.cells.end(),
                         [&](const CsvCell& cell) { return !cell.quoted && is_it(cell.text); });
    };
    if (record.text.starts_with('#')) return "if it is a comment, add --comment '#'";
    if (any([](std::string_view cell) { return cell.starts_with(' ') && trimmed(cell).starts_with('"'); })) {
      return "a blank precedes a quote, so the quote is part of the cell: remove such blanks";
    }
    if (any([](std::string_view cell) { return cell.find('"') != std::string_view::npos; })) {
      return "a quote inside a cell does not quote: write the whole cell in quotes, and double the quotes within it";
    }
    if (any([](std::string_view cell) { return cell.ends_with('\\'); }))
      return "if a backslash precedes such characters, add --escape '\\'";
    if (record.cells.size() > 1 && record.cells.back().text.empty()) {
      return fmt::format("it ends with a delimiter: remove that, or read it with --ragged fill");
    }
    return "correct the row, or read it with --ragged fill or --ragged skip";
  }

  // Refuses blanks and colons that split all rows into equal numbers of cells, if two columns are values. The rows may
  // be a log. Without a header row, the first of them would be lost.
  void require_no_common_delimiter(const std::vector<Candidate>& candidates) const {
    constexpr std::size_t kLeast = 4;  // cells; in prose, rows of equal numbers of words are short
    const Candidate* found = nullptr;
    for (const Candidate& c : candidates) {
      if (!c.delimiter->is_common || !c.fits() || c.width < kLeast || c.last < c.first + 2) continue;
      if (c.delimiter->text == ":" && has_split_times(c)) continue;
      const std::size_t typed = count_columns_of_values(c);
      if (typed > 1 && typed < c.width && (found == nullptr || c.width > found->width)) found = &c;
    }
    if (found == nullptr) return;
    const std::string_view delimiter = found->delimiter->text;
    refuse(
        fmt::format("{} seem to separate its columns; read it with --delimiter '{}', or, if it is one column, with "
                    "--delimiter ,",
                    delimiter_name(delimiter), delimiter));
  }

  // Refuses a character that is between names and occurs equally often in each of the other rows.
  void require_no_rare_delimiter(const Candidate& c) const {
    const Records& records = c.records();
    if (records.size() < 2 || records.front().cells.front().quoted) return;
    const std::string_view names = records.front().text;
    for (std::size_t at = 0; at < names.size();) {
      const CodePoint point = code_point(names, at);
      if (point.bytes == 0) return;
      const std::string_view delimiter = names.substr(at, point.bytes);
      at += point.bytes;
      if (!may_separate(point.value)) continue;
      const std::vector<std::string_view> cells = split_at(names, delimiter);
      const bool splits_alike = std::none_of(cells.begin(), cells.end(), is_blank) &&
                                std::all_of(records.begin(), records.end(), [&](const CsvRecord& record) {
                                  return split_at(record.text, delimiter).size() == cells.size();
                                });
      if (!splits_alike) continue;
      refuse(
          fmt::format("{} seems to separate its columns; read it with --delimiter {}, or, if it is one column, with "
                      "--delimiter ,",
                      quoted(delimiter), quoted(delimiter)));
    }
  }

  CsvDialect dialect_of(const Candidate& c) {
    table_.assign(c.records().begin() + static_cast<std::ptrdiff_t>(c.first),
                  c.records().begin() + static_cast<std::ptrdiff_t>(std::max(c.first, c.last)));
    std::erase_if(table_, [&](const CsvRecord& record) {
      return (c.has_blank_rows && is_blank(record.text)) || (c.has_comments && is_comment(record));
    });
    width_ = c.width;
    for (CsvRecord& record : table_) record.cells.resize(std::max(record.cells.size(), width_));
    CsvDialect dialect;
    RowForm& rows = dialect.rows;
    rows.marks = c.marks;
    rows.comment = options_.comment.value_or(c.has_comments ? "#" : "");
    rows.has_blank_rows = c.has_blank_rows;
    rows.has_end_marks = c.has_end_marks;
    rows.has_row_names = c.has_row_names;
    rows.ragged = options_.ragged;
    rows.columns = width_;
    dialect.begin = static_cast<std::int64_t>(begin_ + (table_.empty() ? 0 : table_.front().begin));
    dialect.line = table_.empty() ? line_ : table_.front().line;
    dialect.end = text_.size;
    set_end(c, dialect);
    if (!options_.quote && options_.ragged == Ragged::refuse) {
      require_no_inner_quotes();
      require_no_blank_before_quote();
    }
    dialect.header = options_.header ? *options_.header : header_of_table(c.sample.quote_fault || !whole_);
    set_values(dialect);
    return dialect;
  }

  void set_end(const Candidate& c, CsvDialect& dialect) const {
    if (c.last < c.records().size()) {
      const CsvRecord& after = c.records()[c.last];
      dialect.end = static_cast<std::int64_t>(begin_ + after.begin);
      dialect.lines_after = std::ssize(c.records()) - static_cast<std::int64_t>(c.last);
      return;
    }
    const std::string_view text = last_lines();
    if (is_complete(c) || text.empty() || c.width < 2) return;
    const CsvSample tail = split_sample(text, c.marks, 1, true);
    const Records& records = tail.records;
    std::size_t last = records.size();
    while (last > 0 && records[last - 1].cells.size() != c.width) --last;
    const auto fits = [&](const CsvRecord& record) { return record.cells.size() == c.width; };
    const bool others_fit = std::all_of(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(last), fits);
    if (last == records.size() || last < 2 || !others_fit || tail.quote_fault || records.size() - last > kMostTitles)
      return;
    const bool parted = records[last].empty_lines > records[last - 1].empty_lines;
    if (!parted && !are_notes(c, records, last)) return;
    dialect.end = text_.size - std::ssize(text) + static_cast<std::int64_t>(records[last].begin);
    dialect.lines_after = std::ssize(records) - static_cast<std::int64_t>(last);
  }

  [[nodiscard]] const Records& records() const { return table_; }
  [[nodiscard]] const CsvRecord& first() const { return table_.front(); }
  [[nodiscard]] std::size_t width() const { return width_; }

  // Refuses a quote that opens inside a cell and closes at the end of a later one: it may quote the delimiter.
  void require_no_inner_quotes() const {
    const auto is_odd = [](std::string_view text) { return std::count(text.begin(), text.end(), '"') % 2 == 1; };
    for (const CsvRecord& record : records()) {
      for (std::size_t i = 0; i + 1 < record.cells.size(); ++i) {
        const std::string_view cell = record.cells[i].text;
        if (record.cells[i].quoted || !is_odd(cell) || !opens_quote(cell)) continue;
        const auto closes = [&](const CsvCell& other) { return !other.quoted && is_odd(other.text); };
        const auto other =
            std::find_if(record.cells.begin() + static_cast<std::ptrdiff_t>(i) + 1, record.cells.end(), closes);
        if (other == record.cells.end() || !other->text.ends_with('"')) continue;
        refuse(
            fmt::format("line {}: a quote inside the unquoted cell {} does not quote the delimiter after it; write the "
                        "whole cell in quotes, and double the quotes within it, or read it with --quote none",
                        record.line, quoted(cell)),
            record, record.row - table_.front().row - 1);
      }
    }
  }

  // Refuses a blank before a quote: the quote would be a part of the cell.
  void require_no_blank_before_quote() const {
    for (const CsvRecord& record : records()) {
      for (const CsvCell& cell : record.cells) {
        const std::string_view inner = trimmed(cell.text);
        if (cell.quoted || inner.size() < 2 || inner.size() == cell.text.size()) continue;
        if (!inner.starts_with('"') || !inner.ends_with('"')) continue;
        refuse(fmt::format(
                   "line {}: a blank precedes the quote of {}, so the quote is part of the cell; remove such blanks, "
                   "or read it with --quote none",
                   record.line, quoted(cell.text)),
               record, record.row - table_.front().row - 1);
      }
    }
  }

  // Whether a quote is inside the text, without a blank after it (unlike 9" x 4").
  static bool opens_quote(std::string_view text) {
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
      if (text[i] == '"' && text[i + 1] != ' ' && text[i + 1] != '"' && text[i - 1] != '"') return true;
    }
    return false;
  }

  // Returns the rows that contain names.
  [[nodiscard]] std::vector<std::int64_t> header_of_table(bool has_fault) const {
    if (table_.empty()) return has_fault ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{};
    if (!has_header()) return {};
    std::vector<std::int64_t> rows{1};
    constexpr std::size_t kMostHeaders = 3;  // besides the first
    std::size_t found = 0;
    for (std::size_t more = 1; width() > 1 && more <= kMostHeaders && more + 2 < records().size(); ++more) {
      if (are_headers(more)) found = more;
    }
    for (std::size_t more = 1; more <= found; ++more) rows.push_back(static_cast<std::int64_t>(more) + 1);
    return rows;
  }

  // The names must differ from the values below them, in at least one column that is not text. Marks for missing values
  // are not names.
  [[nodiscard]] bool has_header() const {
    if (records().size() == 1 && !whole_) return true;
    if (begins_with_values()) return false;
    std::vector<std::size_t> alike;  // columns
    bool has_mark = false;           // above values
    bool may_have_mark = false;
    for (std::size_t column = 0; column < std::min(width(), first().cells.size()); ++column) {
      const CsvCell& name = first().cells[column];
      const CellLook look = look_of(name.text);
      const CellLook below = records().size() > 1 ? look_of_column(records(), 1, column) : look;
      if (below.is_typed() && is_blank(name.text)) may_have_mark = may_have_mark || column > 0;
      if (is_blank(name.text)) continue;
      if (!below.is_typed()) {
        if (records().size() == 1 && look.kind != Kind::empty) return true;
        continue;
      }
      if (is_needlessly_quoted(name) && !is_quoted_below(column)) return true;
      const std::string_view bound = below.kind == Kind::number ? number_of_bound(name.text) : "";
      if (look.kind == Kind::empty || is_missing_mark(name.text) ||
          (has_decimals(bound) && has_decimals_below(column))) {
        has_mark = true;
      } else if (!bound.empty()) {
        may_have_mark = true;
      } else if (below == look || (look.kind == Kind::figure && resembles_below(column))) {
        alike.push_back(column);
      } else if (look.kind != Kind::text || !is_digit(trimmed(name.text).front())) {
        return true;
      }
    }
    if (!alike.empty()) return may_be_names(alike);
    return !has_mark && !(may_have_mark && begins_like_below());
  }

  // Whether the first row has a date or a time above such values only, or decimals above decimals. Names are not such
  // values, unless several decimals ascend or descend.
  [[nodiscard]] bool begins_with_values() const {
    std::vector<double> decimals;
    for (std::size_t column = 0; column < std::min(width(), first().cells.size()) && records().size() > 2; ++column) {
      const CsvCell& cell = first().cells[column];
      const CellLook look = look_of(cell.text);
      if (!look.is_typed() || look_of_column(records(), 1, column) != look) continue;
      Moment moment;
      if (parse_moment(trimmed(cell.text), moment)) return true;
      const bool is_name = is_needlessly_quoted(cell) && !is_quoted_below(column);
      if (is_name || !has_decimals(cell.text) || !has_decimals_below(column)) continue;
      std::string text(trimmed(cell.text));
      std::replace(text.begin(), text.end(), ',', '.');
      decimals.push_back(parse_float64(text).value_or(0));
    }
    const auto is_sorted = [&](auto is_wrong) {
      return std::adjacent_find(decimals.begin(), decimals.end(), is_wrong) == decimals.end();
    };
    if (decimals.size() < 2) return !decimals.empty();
    return !is_sorted(std::greater_equal<>()) && !is_sorted(std::less_equal<>());
  }

  [[nodiscard]] bool has_decimals_below(std::size_t column) const {
    return std::any_of(records().begin() + 1, records().end(),
                       [&](const CsvRecord& record) { return has_decimals(record.cells[column].text); });
  }

  // Whether a cell of the first row has digits, at the same places as all cells below it. Names rarely do.
  [[nodiscard]] bool resembles_below(std::size_t column) const {
    const std::string_view name = first().cells[column].text;
    const auto resembles = [&](const CsvRecord& record) {
      const std::string_view cell = record.cells[column].text;
      return is_blank(cell) || std::equal(name.begin(), name.end(), cell.begin(), cell.end(),
                                          [](char a, char b) { return a == b || (is_digit(a) && is_digit(b)); });
    };
    return std::any_of(name.begin(), name.end(), is_digit) &&
           std::all_of(records().begin() + 1, records().end(), resembles);
  }

  // Whether some text of the first row occurs again in its column, or resembles all cells below it.
  [[nodiscard]] bool begins_like_below() const {
    for (std::size_t column = 0; column < std::min(width(), first().cells.size()); ++column) {
      const std::string_view name = first().cells[column].text;
      if (look_of(name).kind != Kind::text) continue;
      const auto is_equal = [&](const CsvRecord& record) { return record.cells[column].text == name; };
      if (resembles_below(column) || std::any_of(records().begin() + 1, records().end(), is_equal)) return true;
    }
    return false;
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
  // without names are numbered. They may be any integers if the first column has no name but a value in every row, like
  // row numbers.
  [[nodiscard]] bool may_be_names(const std::vector<std::size_t>& columns) const {
    if (width() == 1 || records().size() == 1) return false;
    const auto is_integer = [&](std::size_t column) { return small_integer(first(), column).has_value(); };
    if (!std::all_of(columns.begin(), columns.end(), is_integer)) return false;
    const auto begins_empty = [](const CsvRecord& record) { return is_blank(record.cells.front().text); };
    if (begins_empty(first())) return std::none_of(records().begin() + 1, records().end(), begins_empty);
    const auto are_years = [&](const CsvRecord& record) {
      return std::all_of(columns.begin(), columns.end(),
                         [&](std::size_t column) { return is_year(small_integer(record, column)); });
    };
    if (are_years(first())) return !std::all_of(records().begin() + 1, records().end(), are_years);
    return counts(first(), columns) && !counts(records()[1], columns);
  }

  // Whether each cell is dashes, as SQL Server writes them below names.
  static bool is_drawn_line(const CsvRecord& record) {
    return std::all_of(record.cells.begin(), record.cells.end(), [](const CsvCell& cell) {
      return !cell.text.empty() && cell.text.find_first_not_of('-') == std::string_view::npos;
    });
  }

  [[nodiscard]] bool are_headers(std::size_t more) const {
    std::vector<bool> typed(width());
    for (std::size_t column = 0; column < width(); ++column) {
      typed[column] = look_of_column(records(), more + 1, column).is_typed();
    }
    for (std::size_t i = 1; i <= more; ++i) {
      std::vector<std::string_view> texts;
      bool others = false;
      const bool is_line = is_drawn_line(records()[i]);
      for (std::size_t column = 0; column < width(); ++column) {
        const std::string_view cell = records()[i].cells[column].text;
        const Kind kind = look_of(cell).kind;
        if (typed[column] && kind != Kind::empty && kind != Kind::text) return false;
        if (typed[column] && kind == Kind::text && (is_line || !is_missing_mark(cell))) texts.push_back(cell);
        others = others || (!typed[column] && kind != Kind::empty);
      }
      // A row of values may also contain a word for a missing value.
      const bool alike =
          std::all_of(texts.begin(), texts.end(), [&](std::string_view text) { return text == texts[0]; });
      if (texts.empty() || (alike && (others || texts.size() > 1))) return false;
    }
    return true;
  }

  // Numbers of the table decide how all numbers of the file are written.
  void set_values(CsvDialect& dialect) const {
    CsvValues& values = dialect.values;
    values.nulls = options_.nulls;
    values.date_format = options_.date_format;
    NumberEvidence evidence;
    const std::size_t from = dialect.header.empty() ? 0 : static_cast<std::size_t>(dialect.header.back());
    for (std::size_t column = 0; column < width(); ++column) {
      NumberEvidence of_column;
      bool are_numbers = true;
      for (std::size_t i = from; i < records().size() && are_numbers; ++i) {
        if (column >= records()[i].cells.size()) continue;
        const std::string_view cell = records()[i].cells[column].text;
        are_numbers = look_of(cell).kind == Kind::empty || of_column.add(cell);
      }
      if (are_numbers) evidence.add(of_column);
    }
    evidence.decide(values);
    // Semicolons are written where the comma is before decimals.
    values.point_is_doubtful = evidence.is_empty() && dialect.rows.marks.delimiter.starts_with(";") &&
                               options_.decimal.empty() && !options_.thousands;
    if (!options_.decimal.empty()) {
      if (values.thousands == options_.decimal) values.thousands.clear();
      values.decimal = options_.decimal.front();
      // The other character can then only be between thousands.
      if (!options_.thousands && values.thousands.empty()) values.thousands = values.decimal == ',' ? "." : ",";
    }
    if (options_.thousands) {
      values.thousands = *options_.thousands;
      if (options_.decimal.empty() && !values.thousands.empty()) values.decimal = values.thousands == "." ? ',' : '.';
    }
  }

  static constexpr double kTie = 0.02;
  static constexpr double kDoubt = 0.4;  // not measured

  const CsvSniffed& text_;
  const CsvOptions& options_;
  bool whole_;             // the head is the whole text
  std::size_t begin_ = 0;  // of the lines that may be a table
  std::int64_t line_ = 1;  // its line
  char separator_ = '\0';  // of the line "sep=;"
  std::vector<Delimiter> delimiters_;
  Records table_;
  std::size_t width_ = 0;
};

}  // namespace

CsvDialect sniff(const CsvSniffed& text, const CsvOptions& options) {
  // DOS ends a text with this character.
  constexpr char kEnd = '\x1A';
  CsvSniffed sniffed = text;
  std::string_view& last = text.tail.empty() ? sniffed.head : sniffed.tail;
  const bool whole = !text.tail.empty() || std::ssize(text.head) == text.size;
  for (; whole && last.ends_with(kEnd); last.remove_suffix(1)) --sniffed.size;
  return Sniffer(sniffed, options).run();
}

}  // namespace upsweep::io
