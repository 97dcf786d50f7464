// SPDX-License-Identifier: Apache-2.0
// io/text_rows.cpp: cells as CSV and JSON, and the rows of them.
#include "io/text_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/utf8.hpp"
#include "io/tuning.hpp"

namespace upsweep::io {
namespace {

bool is_space_or_tab(char c) { return c == ' ' || c == '\t'; }

// Whether the text is a word that readers take for a boolean, a missing value or a float.
bool is_word_of_values(std::string_view text) {
  constexpr std::string_view kWords[] = {"true", "false", "t",    "f",    "yes", "no",   "nan",       "inf", "infinity",
                                         "na",   "n/a",   "#n/a", "null", "nil", "none", "undefined", "-",   "nat"};
  const std::string lower = lower_case(text.starts_with('+') || text.starts_with('-') ? text.substr(1) : text);
  return text == "-" || std::ranges::find(kWords, lower) != std::end(kWords);
}

// Whether the letters of a text with digits may belong to a number, a date or a time: an exponent, a currency, a month,
// a zone.
bool are_letters_of_values(std::string_view text, std::string_view letters) {
  constexpr std::string_view kMonths = "janfebmaraprmayjunjulaugsepoctnovdec";
  constexpr std::string_view kWords[] = {"e", "t", "z", "tz", "am", "pm", "utc", "gmt"};
  if (letters.empty()) return true;
  const std::string lower = lower_case(letters);
  const std::size_t month =
      lower.size() < 3 ? std::string_view::npos : kMonths.find(std::string_view(lower).substr(0, 3));
  if (month != std::string_view::npos && month % 3 == 0 && lower.size() <= 9) return true;
  // E5 and ABC-12 are neither a number nor an amount; 1E5 and ABC 12 may be.
  if (is_ascii_letter(text.front()) && text.find(' ') == std::string_view::npos) return false;
  const bool is_currency =
      letters.size() == 3 && std::ranges::all_of(letters, [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_currency || std::ranges::find(kWords, lower) != std::end(kWords);
}

// Whether a reader may take a text for a number, a date, a time, a boolean or a missing value.
bool is_like_another_value(std::string_view text) {
  constexpr std::size_t kLongest = 60;     // of numbers, dates and times with their blanks and zones
  constexpr std::size_t kLongestWord = 9;  // "undefined", "-infinity"
  if (text.size() > kLongest) return false;
  if (text.size() <= kLongestWord && is_word_of_values(text)) return true;
  if (std::ranges::none_of(text, is_digit)) return false;
  const bool is_code = text.size() > 1 && text.front() == '0' && std::ranges::all_of(text, is_digit);
  if (is_code) return false;
  std::string letters;
  for (std::size_t at = 0; at < text.size(); ++at) {
    constexpr std::string_view kMarks = "+-.,:/'_ ()%$";
    constexpr std::string_view kCurrencies[] = {"€", "£", "¥"};
    if (is_digit(text[at])) continue;
    if (is_ascii_letter(text[at])) {
      letters += text[at];
    } else if (const auto sign = std::ranges::find_if(
                   kCurrencies, [&](std::string_view one) { return text.substr(at).starts_with(one); });
               sign != std::end(kCurrencies)) {
      at += sign->size() - 1;
    } else if (kMarks.find(text[at]) == std::string_view::npos) {
      return false;
    }
  }
  return are_letters_of_values(text, letters);
}

bool needs_quotes(std::string_view text) {
  if (text.empty() || is_space_or_tab(text.front()) || is_space_or_tab(text.back())) return true;
  // Semicolons and their like separate the cells of other files. A reader may take them for the delimiter.
  if (text.find_first_of(",;\t|~\"\r\n") != std::string_view::npos) return true;
  // Readers may take these for a comment, other quotes, or a byte order mark.
  if (text.front() == '#' || text.front() == '\'' || text.starts_with("\xef\xbb\xbf")) return true;
  return is_like_another_value(text);
}

std::string in_quotes(std::string_view text) {
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell += '"';
}

// Readers may take these characters in the header row for the delimiter of the file.
std::string csv_name(std::string_view name) {
  return name.find_first_of(":^") != std::string_view::npos ? in_quotes(name) : csv_cell(name);
}

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point(text, at);
    if (c.bytes == 0) {
      to += "\xef\xbf\xbd";
      ++at;
      continue;
    }
    if (c.value == '"' || c.value == '\\') {
      to.append(1, '\\').append(1, static_cast<char>(c.value));
    } else if (c.value < ' ') {
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", c.value);
    } else {
      to += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  to += '"';
}

// Appends the shortest text that reads back as the same float. `marked`: with a point or an exponent, so that a reader
// does not take it for an integer.
template <class T>
void append_float(std::string& to, T value, bool marked) {
  const std::size_t begin = to.size();
  fmt::format_to(std::back_inserter(to), "{}", value);
  if (marked && to.find_first_of(".e", begin) == std::string::npos) to += ".0";
}

}  // namespace

std::string csv_cell(std::string_view text) { return needs_quotes(text) ? in_quotes(text) : std::string(text); }

std::string json_string(std::string_view text) {
  std::string all;
  append_json_string(all, text);
  return all;
}

TextRows::TextRows(const std::string& path, ResultFormat format, std::vector<Field> columns, CellText text)
    : file_(path, Writing::in_order), format_(format), columns_(std::move(columns)), text_(text) {
  if (format_ == ResultFormat::csv) {
    for (const Field& column : columns_) {
      if (&column != columns_.data()) rows_ += ',';
      rows_ += csv_name(column.name);
    }
    rows_ += '\n';
  } else if (format_ == ResultFormat::json) {
    for (const Field& column : columns_) keys_.push_back(json_string(column.name) + ":");
    rows_ += '[';
  }
}

void TextRows::begin_row() {
  column_ = 0;
  if (format_ != ResultFormat::json) return;
  rows_ += std::exchange(any_row_, true) ? ",\n{" : "{";
}

void TextRows::begin_cell() {
  if (column_ > 0) rows_ += format_ == ResultFormat::text ? '\t' : ',';
  if (format_ == ResultFormat::json) rows_ += keys_[column_];
}

void TextRows::add(const Cell& cell) {
  begin_cell();
  const Field& column = columns_[column_++];
  if (cell.null && format_ == ResultFormat::csv) return;
  if (format_ == ResultFormat::csv && column.kind == ValueKind::text) {
    rows_ += csv_cell(cell.word);
  } else {
    append_value(rows_, column, cell);
  }
}

void TextRows::begin_list() {
  list_.assign(1, '[');
  any_element_ = false;
}

void TextRows::add_element(const Cell& cell) {
  if (std::exchange(any_element_, true)) list_ += ',';
  append_value(list_, columns_[column_], cell);
}

void TextRows::end_list() {
  begin_cell();
  list_ += ']';
  rows_ += format_ == ResultFormat::csv ? csv_cell(list_) : list_;
  ++column_;
}

void TextRows::end_row() {
  rows_ += format_ == ResultFormat::json ? "}" : "\n";
  if (std::ssize(rows_) >= tuning::kText.written) flush();
}

void TextRows::append_value(std::string& to, const Field& column, const Cell& cell) const {
  if (cell.null) {
    to += format_ == ResultFormat::json ? "null" : "NULL";
    return;
  }
  const bool is_json = format_ == ResultFormat::json;
  switch (column.kind) {
    case ValueKind::boolean:
      to += cell.exact != 0 ? "true" : "false";
      return;
    case ValueKind::integer:
      if (const auto value = static_cast<std::int64_t>(cell.exact); value == cell.exact) {
        fmt::format_to(std::back_inserter(to), "{}", value);
      } else {
        to += text_(column, cell);
      }
      return;
    case ValueKind::real:
      if (std::isfinite(cell.real)) {
        const bool marked = format_ != ResultFormat::text;
        if (column.storage == Storage::float32) return append_float(to, static_cast<float>(cell.real), marked);
        return append_float(to, cell.real, marked);
      }
      break;
    case ValueKind::text:
      if (is_json) {
        append_json_string(to, cell.word);
      } else {
        to += cell.word;
      }
      return;
    default:
      break;
  }
  if (is_json) return append_json_string(to, text_(column, cell));
  to += text_(column, cell);
}

void TextRows::flush() {
  file_.write(rows_.data(), std::ssize(rows_));
  rows_.clear();
}

void TextRows::complete() {
  if (std::exchange(completed_, true)) return;
  if (format_ == ResultFormat::json) rows_ += "]\n";
  flush();
  file_.complete();
}

void TextRows::close() {
  complete();
  file_.close();
}

}  // namespace upsweep::io
