// SPDX-License-Identifier: Apache-2.0
// io/regular_rows.cpp: the rows of a CSV file of any dialect, read as rows of RFC 4180 with equal numbers of cells.
//
// The reader of blocks is vectorized, and reads one dialect. Other dialects are rewritten to it. Most rows need no
// change, or only empty cells at their end. Such rows are found 64 bytes at a time, and copied. A first pass stores
// where the rows at every 64 KiB begin, so that threads can read any place. Reading copies the bytes of the file where
// all rows are unchanged, and rewrites the others again.
#include "io/regular_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "io/csv_quotes.hpp"
#include "io/csv_rows.hpp"
#include "io/csv_sample.hpp"
#include "io/tuning.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

void append_cell(const CsvCell& cell, const CsvMarks& marks, char delimiter, std::string& out) {
  const std::string content = content_of(cell, marks);
  const char special[] = {delimiter, '"', '\r', '\n'};
  if (!cell.quoted && content.find_first_of(special, 0, std::size(special)) == std::string::npos) {
    out += content;
    return;
  }
  out += '"';
  for (const char c : content) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

// Returns the characters that mean something else than in RFC 4180.
std::string other_marks(const CsvMarks& marks) {
  std::string others;
  if (marks.quote != '"' || marks.escape != 0 || marks.rule != QuoteRule::doubled) others += '"';
  if (marks.quote != 0 && marks.quote != '"') others += marks.quote;
  if (marks.escape != 0 && marks.escape != '"') others += marks.escape;
  return others;
}

}  // namespace

void IrregularRows::add(const IrregularRows& next, std::int64_t lines_before) {
  for (std::size_t i = 0; i < next.lines.size() && std::cmp_less(i, next.count()); ++i) {
    const auto place = static_cast<std::size_t>(count()) + i;
    if (place < lines.size()) lines[place] = next.lines[i] + lines_before;
  }
  filled += next.filled;
  skipped += next.skipped;
}

// Rewrites the rows from a mark on, one at a time.
class RegularRows::Rewriter {
 public:
  // Rows are taken together only if they start before `until`.
  Rewriter(const RegularRows& rows, const Descriptor& file, const Mark& from, std::int64_t until)
      : rows_(rows), form_(rows.form_), file_(file), in_(from.in), until_(until), line_(from.line) {}

  // Appends the next row to `out`, or nothing if it is left out. Returns false at the end.
  bool next(std::string& out) {
    std::string_view text = text_.substr(at_);
    if (text.size() < kMargin && !ends()) text = more();
    if (text.empty()) return false;
    const auto before = static_cast<std::size_t>(std::max<std::int64_t>(until_ - in_, 0));
    if (const std::size_t size = take_ordinary(text.substr(0, before), out); size > 0) return pass(size);
    is_same_ = false;
    for (;;) {
      if (const auto size = take(text, out)) {
        line_ += count_lines(text.substr(0, *size));
        if (*size == text.size() && !ends_line(text.back())) ++line_;
        return pass(*size);
      }
      text = more();
    }
  }

  [[nodiscard]] std::int64_t in() const { return in_; }
  [[nodiscard]] std::int64_t line() const { return line_; }
  [[nodiscard]] std::size_t widest() const { return widest_; }
  [[nodiscard]] const IrregularRows& irregular() const { return irregular_; }
  // Whether all rows since the last call were unchanged.
  bool take_same() { return std::exchange(is_same_, true); }

 private:
  static constexpr std::size_t kMargin = std::size_t{1} << 12;  // most rows are shorter

  bool pass(std::size_t size) {
    at_ += size;
    in_ += static_cast<std::int64_t>(size);
    return true;
  }

  // Whether the text up to the end has been read.
  [[nodiscard]] bool ends() const { return in_ + static_cast<std::int64_t>(text_.size() - at_) == rows_.end_; }

  std::string_view more() {
    buffer_.erase(0, at_);
    at_ = 0;
    const std::size_t kept = buffer_.size();
    const std::int64_t place = in_ + static_cast<std::int64_t>(kept);
    const std::int64_t bytes =
        std::min(std::max<std::int64_t>(tuning::kText.decoded, std::ssize(buffer_)), rows_.end_ - place);
    buffer_.resize(kept + static_cast<std::size_t>(bytes));
    rows_.read_bytes(file_, buffer_.data() + kept, bytes, place);
    text_ = buffer_;
    return text_;
  }

  // Returns the size of the row that the text begins with; nothing if more text is needed to find its end.
  std::optional<std::size_t> take(std::string_view text, std::string& out) {
    const bool whole = ends();
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (end == text.size() && !whole && end < kLongestRow) return std::nullopt;
    if (end + 1 == text.size() && text[end] == '\r' && !whole) return std::nullopt;  // a \n may follow
    const std::size_t line = end == text.size() ? end : end + (text.substr(end).starts_with("\r\n") ? 2U : 1U);
    if (end == 0) {
      if (form_.columns == 1) out += '\n';
      return line;
    }
    const std::string_view first = text.substr(0, end);
    if (!form_.comment.empty() && first.starts_with(form_.comment)) return line;
    if (form_.has_blank_rows && form_.columns != 1 && is_blank(first)) return line;
    return take_row(text, whole, line, out);
  }

  // Appends the rows at the front of the text that are written as in RFC 4180, up to the first one that is not. Only
  // their last cells may be missing, with Ragged::fill. Returns the size of these rows.
  std::size_t take_ordinary(std::string_view text, std::string& out) {
    if (!may_be_ordinary_) return 0;
    CsvGroups groups(rows_.delimiter());
    std::size_t copied = 0;
    std::size_t row = 0;  // its start
    std::size_t cells = 1;
    std::int64_t ends_in_copy = 0;  // rows that end in it
    const auto copy_to = [&](std::size_t end) {
      const std::string_view copy = text.substr(copied, end - copied);
      out += copy;
      line_ += copy.find('"') == std::string_view::npos ? ends_in_copy : count_lines(copy);
      ends_in_copy = 0;
      copied = end;
    };
    for (std::size_t at = 0; at + kCsvGroup <= text.size(); at += kCsvGroup) {
      std::uint64_t others = 0;
      for (const char c : others_) others |= places_of(&text[at], c);
      CsvEnds ends;
      const bool in_order = groups.accept(text.substr(at, kCsvGroup), ends);  // otherwise the ends before the fault
      for (std::uint64_t left = ends.cells & ((others & -others) - 1); left != 0; left &= left - 1) {
        const auto bit = static_cast<unsigned>(std::countr_zero(left));
        const std::size_t end = at + bit;
        if ((ends.returns >> bit & 1) != 0 && text.substr(end).starts_with("\r\n")) continue;
        if ((ends.feeds >> bit & 1) == 0 && (ends.returns >> bit & 1) == 0) {
          ++cells;
          continue;
        }
        const bool is_short = cells < form_.columns && form_.ragged == Ragged::fill;
        std::string_view line = text.substr(row, end - row);
        if (line.ends_with('\r')) line.remove_suffix(1);
        const bool is_ordinary = text[end] == '\n' && (cells == form_.columns || is_short) && starts_row(line) &&
                                 !(is_short && line.find(form_.marks.quote) != std::string_view::npos);
        if (!is_ordinary) {
          copy_to(row);
          return row;
        }
        if (is_short) {
          copy_to(row + line.size());
          out.append(form_.columns - cells, rows_.delimiter());
          count(irregular_.filled);
          is_same_ = false;
        }
        ++ends_in_copy;
        row = end + 1;
        cells = 1;
      }
      if (!in_order || others != 0) break;
    }
    copy_to(row);
    return row;
  }

  // Whether a line is a row: neither empty nor left out.
  [[nodiscard]] bool starts_row(std::string_view line) const {
    if (line.empty() || (form_.has_blank_rows && is_blank(line))) return false;
    return form_.comment.empty() || !line.starts_with(form_.comment);
  }

  std::optional<std::size_t> take_row(std::string_view text, bool whole, std::size_t line, std::string& out) {
    SplitRow row = split_row(text, form_.marks, cells_);
    const bool may_continue = row.size == text.size() && text.back() == '\r';  // with \n
    const bool is_cut = (row.end == RowEnd::text || row.end == RowEnd::open || may_continue) && !whole;
    if (is_cut && text.size() < kLongestRow) return std::nullopt;
    drop_end_mark();
    const CsvMarks* marks = &form_.marks;
    bool is_fault = row.end == RowEnd::open || row.end == RowEnd::fault || row.size > kLongestRow;
    CsvMarks others = form_.marks;
    if (form_.ragged == Ragged::fill && (is_fault || cells_.size() != form_.columns) &&
        text.substr(0, line).find(form_.marks.quote) != std::string_view::npos) {
      // A quote, or a delimiter before it, is missing or is one too many. The reading is taken that has the right
      // number of cells.
      for (const QuoteRule rule : {QuoteRule::inner, QuoteRule::literal, QuoteRule::bare, QuoteRule::joined}) {
        others.rule = rule;
        const SplitRow other = split_row(text.substr(0, is_fault ? line : std::max(line, row.size)), others, repaired_);
        if (other.end == RowEnd::open || other.end == RowEnd::fault) continue;
        if (repaired_.size() != form_.columns && !(is_fault && rule == QuoteRule::literal)) continue;
        if (!is_fault && has_odd_quotes(repaired_)) continue;  // the short row is well-formed
        std::swap(cells_, repaired_);
        row = other;
        marks = &others;
        is_fault = false;
        count(irregular_.filled);
        break;
      }
    }
    if (is_fault) {
      if (form_.ragged != Ragged::skip) refuse_fault(row);
      count(irregular_.skipped);
      return line;
    }
    return emit(*marks, out) ? row.size : refuse_length();
  }

  // Whether a reading leaves doubled quotes, or quotes in cells that are not quoted.
  [[nodiscard]] bool has_odd_quotes(const std::vector<CsvCell>& cells) const {
    const char quote = form_.marks.quote;
    return std::any_of(cells.begin(), cells.end(), [&](const CsvCell& cell) {
      return cell.text.find(cell.quoted ? std::string(2, quote) : std::string(1, quote)) != std::string_view::npos;
    });
  }

  void drop_end_mark() {
    if (form_.has_end_marks && cells_.size() == form_.columns + 1 && cells_.back().text.empty()) cells_.pop_back();
  }

  // Returns false if the row has a wrong number of cells, which is an error.
  bool emit(const CsvMarks& marks, std::string& out) {
    const bool is_header = form_.has_row_names && in_ == rows_.begin_ && cells_.size() + 1 == form_.columns;
    const std::size_t columns = is_header ? cells_.size() : form_.columns;
    if (columns > 0 && cells_.size() != columns) {
      if (form_.ragged == Ragged::refuse) return false;
      if (form_.ragged == Ragged::skip) {
        count(irregular_.skipped);
        return true;
      }
      const auto is_empty = [](const CsvCell& cell) { return !cell.quoted && is_blank(cell.text); };
      while (cells_.size() > form_.columns && is_empty(cells_.back())) cells_.pop_back();
      count(irregular_.filled);
    }
    widest_ = std::max(widest_, cells_.size());
    for (std::size_t i = 0; i < std::max(cells_.size(), columns); ++i) {
      if (i > 0) out += rows_.delimiter();
      if (i < cells_.size()) append_cell(cells_[i], marks, rows_.delimiter(), out);
    }
    // A row of one empty cell would be an empty line.
    out += '\n';
    return true;
  }

  void count(std::int64_t& counter) {
    const std::int64_t before = irregular_.count();
    if (before < std::ssize(irregular_.lines)) irregular_.lines[static_cast<std::size_t>(before)] = line_;
    ++counter;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw RowError(Code::malformed, fmt::format("{}: line {}: {}", rows_.path_, line_, what), {rows_.path_, -1, line_});
  }

  [[noreturn]] void refuse_fault(const SplitRow& row) const {
    if (row.size > kLongestRow)
      refuse(fmt::format("is longer than {} bytes, or does not end; correct the row", kLongestRow));
    refuse(row.end == RowEnd::open ? "a quote opens, and no quote closes it before the end of the file; correct the "
                                     "row, or read it with --ragged fill"
                                   : "text follows a closing quote; correct the row, or read it with --ragged fill");
  }

  [[noreturn]] std::size_t refuse_length() const {
    refuse(fmt::format(
        "has {} cell{}, and {} {} expected; correct the row, or read it with --ragged fill or --ragged skip",
        cells_.size(), cells_.size() == 1 ? "" : "s", form_.columns, form_.columns == 1 ? "is" : "are"));
  }

  const RegularRows& rows_;
  const RowForm& form_;
  const Descriptor& file_;
  std::int64_t in_;
  std::int64_t until_;
  std::int64_t line_;
  std::string buffer_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<CsvCell> cells_;
  std::vector<CsvCell> repaired_;
  std::size_t widest_ = 0;
  // Whether rows can be ordinary. Characters that then occur only in other rows: quotes of other rules than RFC 4180.
  bool may_be_ordinary_ = form_.marks.delimiter == std::string(1, rows_.delimiter()) && !form_.has_end_marks;
  std::string others_ = other_marks(form_.marks);
  bool is_same_ = true;
  IrregularRows irregular_;
};

// Consecutive rows. Places and lines are counted from the first of them.
struct RegularRows::Scanned {
  std::vector<Mark> marks = {};  // the last one is the end; empty: nothing was scanned
  IrregularRows irregular = {};
  std::size_t widest = 0;
};

RegularRows::RegularRows(const Descriptor& file, std::string path, std::shared_ptr<const TextView> view, RowForm form,
                         const TablePart& part, int threads)
    : path_(std::move(path)), view_(std::move(view)), form_(std::move(form)), begin_(part.begin), end_(part.end) {
  // Cells past the last column must not be lost, so the widest row decides the number of columns.
  while (!scan(file, part, threads)) marks_.clear();
}

char RegularRows::delimiter() const {
  const std::string& written = form_.marks.delimiter;
  return written.size() == 1 && written != " " ? written.front() : ',';
}

// The file is split at every 4 MiB. A row nearly always begins at the first line after such a place, so all row groups
// are scanned from there at the same time. Then, in the file's order, row groups that do not begin where the previous
// one ended are scanned again. So are those with a fault: only then is its line known.
bool RegularRows::scan(const Descriptor& file, const TablePart& part, int threads) {
  const std::int64_t until = part.most > 0 ? std::min(part.begin + part.most, part.end) : part.end;
  const auto border = [&](std::size_t i) {
    return std::min(part.begin + static_cast<std::int64_t>(i) * tuning::kText.row_group, until);
  };
  const auto count =
      static_cast<std::size_t>(std::max<std::int64_t>(until - part.begin - 1, 0) / tuning::kText.row_group);
  std::vector<Scanned> found(count + 1);
  run_each(found.size(), threads, [&](std::size_t i) {
    const std::int64_t begin = i == 0 ? part.begin : next_line(file, border(i));
    try {
      if (begin >= 0) found[i] = scan_rows(file, {begin, 0, 0}, border(i + 1));
    } catch (const RowError&) {
      found[i] = {};  // the scan below throws it again if a row begins there
    }
  });
  irregular_ = {};
  Mark end{part.begin, 0, part.line};
  std::size_t widest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<Mark>& marks = found[i].marks;
    if (marks.empty() || marks.front().in != end.in) found[i] = scan_rows(file, {end.in, 0, end.line}, border(i + 1));
    const std::int64_t lines = end.line - marks.front().line;
    for (const Mark& mark : marks) marks_.push_back({mark.in, end.out + mark.out, lines + mark.line, mark.is_same});
    irregular_.add(found[i].irregular, lines);
    widest = std::max(widest, found[i].widest);
    end = marks_.back();
    marks_.pop_back();  // the next row group begins there
  }
  marks_.push_back(end);
  const std::size_t before = std::exchange(form_.columns, std::max(form_.columns, widest));
  return form_.columns == before || form_.ragged != Ragged::fill;
}

// Scans the rows that start before `until`.
RegularRows::Scanned RegularRows::scan_rows(const Descriptor& file, const Mark& start, std::int64_t until) const {
  std::string out;
  Rewriter rows(*this, file, start, until);
  Scanned scanned{{start}};
  std::vector<Mark>& marks = scanned.marks;
  std::int64_t written = 0;
  while (rows.in() < until && rows.next(out)) {
    written += std::ssize(out);
    out.clear();
    if (rows.in() - marks.back().in < tuning::kText.decoded) continue;
    marks.back().is_same = rows.take_same();
    marks.push_back({rows.in(), written, rows.line()});
  }
  marks.back().is_same = rows.take_same();
  marks.push_back({rows.in(), written, rows.line()});
  scanned.irregular = rows.irregular();
  scanned.widest = rows.widest();
  return scanned;
}

// Returns where the line after the one at `from` starts, or -1 if it is far away.
std::int64_t RegularRows::next_line(const Descriptor& file, std::int64_t from) const {
  std::string text(static_cast<std::size_t>(std::min(tuning::kText.block, end_ - from + 1)), '\0');
  read_bytes(file, text.data(), std::ssize(text), from - 1);
  const std::size_t end = text.find('\n');
  return end == std::string::npos ? -1 : from + static_cast<std::int64_t>(end);
}

std::int64_t RegularRows::read(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t offset) const {
  const auto after = [](std::int64_t place, const Mark& mark) { return place < mark.out; };
  auto mark = std::upper_bound(marks_.begin(), marks_.end(), offset, after) - 1;
  const std::int64_t until = std::min(offset + bytes, size());
  for (std::int64_t at = offset; at < until;) {
    const std::int64_t in = mark->in + (at - mark->out);
    const bool is_same = mark->is_same;
    const auto from = mark++;
    while (is_same && mark->is_same && mark->out < until) ++mark;
    const std::int64_t end = std::min(mark->out, until);
    if (is_same) {
      read_bytes(file, to + (at - offset), end - at, in);
    } else {
      std::string out;
      Rewriter rows(*this, file, *from, end_);
      while (std::ssize(out) < end - from->out && rows.next(out)) {
      }
      if (std::ssize(out) < end - from->out) throw_changed(path_);
      std::memcpy(to + (at - offset), out.data() + (at - from->out), static_cast<std::size_t>(end - at));
    }
    at = end;
  }
  return std::max<std::int64_t>(until - offset, 0);
}

void RegularRows::read_bytes(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t place) const {
  const std::int64_t got =
      view_ ? view_->read(file, to, bytes, place) : read_fully_at(file.get(), to, bytes, place, path_);
  if (got != bytes) throw_changed(path_);
}

std::int64_t RegularRows::line_at(const Descriptor& file, std::int64_t place) const {
  const auto after = [](std::int64_t at, const Mark& mark) { return at < mark.out; };
  const auto found = std::upper_bound(marks_.begin(), marks_.end(), place, after);
  const Mark& mark = found == marks_.begin() ? marks_.front() : *(found - 1);
  Rewriter rows(*this, file, mark, end_);
  std::string out;
  std::int64_t at = mark.out;
  std::int64_t line = mark.line;
  for (;;) {
    line = rows.line();
    if (!rows.next(out) || at + std::ssize(out) > place) break;
    at += std::ssize(out);
    out.clear();
  }
  return line +
         count_lines(std::string_view(out).substr(0, static_cast<std::size_t>(std::max<std::int64_t>(place - at, 0))));
}

}  // namespace upsweep::io
