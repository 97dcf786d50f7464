// SPDX-License-Identifier: Apache-2.0
// io/csv_split.cpp: splits a row of CSV of any dialect into cells, one character at a time.
#include "io/csv_split.hpp"

#include <algorithm>

namespace upsweep::io {
namespace {

class RowSplitter {
 public:
  RowSplitter(std::string_view text, const CsvMarks& marks, std::vector<CsvCell>& cells)
      : text_(text), marks_(marks), blanks_(marks.delimiter == " "), cells_(cells) {}

  SplitRow split() {
    cells_.clear();
    for (;;) {
      if (blanks_) at_ = std::min(text_.find_first_not_of(' ', at_), text_.size());
      if (blanks_ && !cells_.empty() && ends_row(at_)) break;
      if (const RowEnd end = take_cell(); end != RowEnd::line) return {end, at_};
      if (ends_row(at_)) break;
      if (marks_.rule != QuoteRule::joined || ends_cell(at_)) at_ += marks_.delimiter.size();
    }
    if (at_ == text_.size()) return {RowEnd::text, at_};
    at_ += text_.substr(at_).starts_with("\r\n") ? 2U : 1U;
    return {RowEnd::line, at_};
  }

 private:
  [[nodiscard]] bool ends_row(std::size_t at) const { return at == text_.size() || ends_line(text_[at]); }
  [[nodiscard]] bool ends_cell(std::size_t at) const {
    return ends_row(at) ||
           (text_[at] == marks_.delimiter.front() && text_.compare(at, marks_.delimiter.size(), marks_.delimiter) == 0);
  }

  // Returns `line` if a delimiter or the end of the row follows the cell.
  RowEnd take_cell() {
    if (marks_.quote == 0 || at_ == text_.size() || text_[at_] != marks_.quote) return take_plain();
    const std::size_t begin = at_;
    const std::size_t before = cells_.size();
    const RowEnd end = take_quoted();
    if (end == RowEnd::line || marks_.rule != QuoteRule::literal) return end;
    at_ = begin;
    cells_.resize(before);
    return take_plain();
  }

  RowEnd take_plain() {
    const std::size_t begin = at_;
    const bool is_joined = marks_.rule == QuoteRule::joined;
    while (!ends_cell(at_) && !(is_joined && text_[at_] == marks_.quote)) {
      at_ += marks_.escape != 0 && text_[at_] == marks_.escape && !ends_row(at_ + 1) ? 2U : 1U;
    }
    cells_.push_back({text_.substr(begin, at_ - begin), false});
    return RowEnd::line;
  }

  RowEnd take_quoted() {
    const std::size_t begin = ++at_;
    for (;; ++at_) {
      if (at_ >= text_.size()) {
        at_ = text_.size();
        return RowEnd::open;
      }
      if (marks_.escape != 0 && text_[at_] == marks_.escape) {
        ++at_;
        continue;
      }
      if (text_[at_] != marks_.quote) continue;
      const bool closes = ends_cell(at_ + 1);
      if (marks_.rule == QuoteRule::bare && !closes) continue;
      const bool is_doubled = marks_.escape == 0 && at_ + 1 < text_.size() && text_[at_ + 1] == marks_.quote;
      if (marks_.rule != QuoteRule::bare && is_doubled) {
        ++at_;
        continue;
      }
      if (!closes && marks_.rule == QuoteRule::inner) continue;
      cells_.push_back({text_.substr(begin, at_ - begin), true});
      ++at_;
      return closes ? RowEnd::line : RowEnd::fault;
    }
  }

  std::string_view text_;
  const CsvMarks& marks_;
  bool blanks_;
  std::vector<CsvCell>& cells_;
  std::size_t at_ = 0;
};

// Whether an escape before the character is not part of the cell.
bool is_escaped(char c, const CsvMarks& marks) {
  return c == marks.escape || c == '"' || c == '\'' || c == marks.quote || marks.delimiter.starts_with(c) ||
         c == '\n' || c == '\r';
}

}  // namespace

SplitRow split_row(std::string_view text, const CsvMarks& marks, std::vector<CsvCell>& cells) {
  return RowSplitter(text, marks, cells).split();
}

std::string content_of(const CsvCell& cell, const CsvMarks& marks) {
  std::string content;
  for (std::size_t i = 0; i < cell.text.size(); ++i) {
    const char c = cell.text[i];
    const bool has_next = i + 1 < cell.text.size();
    if (marks.escape != 0 && c == marks.escape && has_next) {
      const char next = cell.text[++i];
      if (!is_escaped(next, marks)) content += c;
      content += next;
      continue;
    }
    content += c;
    const bool is_doubled = cell.quoted && marks.escape == 0 && marks.rule != QuoteRule::bare && c == marks.quote;
    if (is_doubled && has_next && cell.text[i + 1] == marks.quote) ++i;
  }
  return content;
}

}  // namespace upsweep::io
