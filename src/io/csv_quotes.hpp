// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.hpp: follows the quotes of CSV, and finds the ends of its cells and rows, through text that comes in
// chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace upsweep::io {

constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }
constexpr bool ends_field(char c) { return c == ',' || ends_line(c); }

/// A cell as it is written, without the quotes around it; quotes within those are still doubled.
struct CsvCell {
  std::string_view text;
  bool quoted = false;
};

/// The text of a cell: of two quotes, one.
std::string content_of(const CsvCell& cell);

enum class QuoteState : std::uint8_t {
  plain,
  quoted,
  closed,  ///< by a quote, unless it is the first of two
  fault,   ///< text follows a closing quote
};

/// The state after `c`, which follows `last`. A field that begins with a quote goes on to the next one that is not doubled,
/// after which the field ends. Any other quote is a letter.
constexpr QuoteState after(QuoteState state, char last, char c) {
  if (state == QuoteState::closed && c != '"') return ends_field(c) ? QuoteState::plain : QuoteState::fault;
  if (c != '"') return state;
  if (state == QuoteState::quoted) return QuoteState::closed;
  return state == QuoteState::closed || ends_field(last) ? QuoteState::quoted : state;
}

/// Bytes that are looked at together: an integer has a bit for each.
inline constexpr std::size_t kCsvGroup = 64;

/// Which bytes of a group end something and are not within quotes.
struct CsvEnds {
  std::uint64_t cells = 0;  ///< commas, and what ends lines
  std::uint64_t feeds = 0;
  std::uint64_t returns = 0;
};

/// Finds the ends of cells from a place on where a row starts.
class CsvGroups {
 public:
  /// Up to kCsvGroup bytes, which follow those before. False where text follows a closing quote: the ends are those before it.
  bool accept(std::string_view group, CsvEnds& ends);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }    ///< accepted so far
  [[nodiscard]] std::int64_t opened() const { return opened_; }  ///< bytes before the last quote that opened a field
  [[nodiscard]] bool is_plain() const { return state_ == QuoteState::plain; }
  [[nodiscard]] bool open() const { return state_ == QuoteState::quoted; }
  [[nodiscard]] char last() const { return last_; }

 private:
  bool accept_whole(const char* bytes, CsvEnds& ends);
  bool accept_each(std::string_view bytes, CsvEnds& ends);

  QuoteState state_ = QuoteState::plain;
  std::int64_t bytes_ = 0;
  std::int64_t opened_ = 0;
  char last_ = '\n';  // the byte before the group
};

/// Follows the quotes from a place where a row starts, and counts the rows whose ends it passes.
class CsvQuotes {
 public:
  /// `begin`: that place, in bytes from the start of the file.
  explicit CsvQuotes(std::int64_t begin = 0) : begin_(begin) {}

  /// False where text follows a closing quote; then nothing more may be asked but opened().
  bool accept(std::string_view chunk);
  /// The same up to the end of the row at hand; returns the number of bytes, or npos in place of false. Only what follows
  /// tells whether the row ends with the text: then that many are all.
  std::size_t accept_row(std::string_view text);

  [[nodiscard]] std::int64_t bytes() const { return begin_ + groups_.bytes(); }  ///< the place in the file
  /// Where the last quote is that opened a field.
  [[nodiscard]] std::int64_t opened() const { return begin_ + groups_.opened(); }
  [[nodiscard]] bool open() const { return groups_.open(); }
  [[nodiscard]] char last() const { return groups_.last(); }
  /// As messages count them: empty lines are rows where a file has one column.
  [[nodiscard]] std::int64_t rows(bool one_column) const { return one_column ? rows_ + empty_lines_ : rows_; }

 private:
  std::int64_t begin_;
  CsvGroups groups_;
  std::int64_t rows_ = 0;
  std::int64_t empty_lines_ = 0;
};

}  // namespace upsweep::io
