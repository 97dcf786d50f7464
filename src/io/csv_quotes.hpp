// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.hpp: follows the quotes of CSV, and finds the ends of its cells and rows, in text passed in chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace upsweep::io {

constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

/// A cell as it is written, without the quotes around it. Quotes within it are still doubled.
struct CsvCell {
  std::string_view text;
  bool quoted = false;
};

/// Returns the text of a cell, with doubled quotes replaced by single ones.
std::string content_of(const CsvCell& cell);

enum class QuoteState : std::uint8_t {
  plain,
  quoted,
  closed,  ///< by a quote, unless it is the first of two
  fault,   ///< text follows a closing quote
};

/// Returns the state after `c`, which follows `last`. A field that begins with a quote continues to the next quote that
/// is not doubled. The field must end after it. Any other quote is an ordinary character.
constexpr QuoteState after(QuoteState state, char delimiter, char last, char c) {
  const auto ends_field = [&](char at) { return at == delimiter || ends_line(at); };
  if (state == QuoteState::closed && c != '"') return ends_field(c) ? QuoteState::plain : QuoteState::fault;
  if (c != '"') return state;
  if (state == QuoteState::quoted) return QuoteState::closed;
  return state == QuoteState::closed || ends_field(last) ? QuoteState::quoted : state;
}

/// Bytes that are processed together: an integer has a bit for each.
inline constexpr std::size_t kCsvGroup = 64;

/// Returns a bit for each of kCsvGroup bytes: whether it is `c`.
std::uint64_t places_of(const char* group, char c);

/// Which bytes of a group end a cell or a line and are not within quotes.
struct CsvEnds {
  std::uint64_t cells = 0;  ///< delimiters and ends of lines
  std::uint64_t feeds = 0;
  std::uint64_t returns = 0;
};

/// Finds the ends of cells, beginning where a row starts.
class CsvGroups {
 public:
  explicit CsvGroups(char delimiter) : delimiter_(delimiter) {}

  /// Processes the next group, of up to kCsvGroup bytes. Returns false if text follows a closing quote; `ends` then has
  /// the ends before it.
  bool accept(std::string_view group, CsvEnds& ends);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }    ///< accepted so far
  [[nodiscard]] std::int64_t opened() const { return opened_; }  ///< bytes before the last quote that opened a field
  [[nodiscard]] bool is_plain() const { return state_ == QuoteState::plain; }
  [[nodiscard]] bool open() const { return state_ == QuoteState::quoted; }
  [[nodiscard]] char last() const { return last_; }

 private:
  bool accept_whole(const char* bytes, CsvEnds& ends);
  bool accept_each(std::string_view bytes, CsvEnds& ends);

  [[nodiscard]] bool ends_field(char c) const { return c == delimiter_ || ends_line(c); }

  char delimiter_;
  QuoteState state_ = QuoteState::plain;
  std::int64_t bytes_ = 0;
  std::int64_t opened_ = 0;
  char last_ = '\n';  // the byte before the group
};

/// Follows the quotes from the start of a row on, and counts the rows that end.
class CsvQuotes {
 public:
  /// `begin`: the start of that row, in bytes from the start of the file.
  explicit CsvQuotes(char delimiter, std::int64_t begin = 0) : begin_(begin), groups_(delimiter) {}

  /// Processes a chunk. Returns false if text follows a closing quote; after that only opened() may be called.
  bool accept(std::string_view chunk);
  /// Processes the text up to the end of the current row. Returns the number of bytes, or npos if accept() would return
  /// false. It returns the size of the text if the row may end with the text: only the next byte shows whether it does.
  std::size_t accept_row(std::string_view text);

  [[nodiscard]] std::int64_t bytes() const { return begin_ + groups_.bytes(); }  ///< the place in the file
  /// Returns the place of the last quote that opened a field.
  [[nodiscard]] std::int64_t opened() const { return begin_ + groups_.opened(); }
  [[nodiscard]] bool open() const { return groups_.open(); }
  [[nodiscard]] char last() const { return groups_.last(); }
  /// Returns the number of rows as messages count them: in a file with one column empty lines are rows.
  [[nodiscard]] std::int64_t rows(bool one_column) const { return one_column ? rows_ + empty_lines_ : rows_; }

 private:
  std::int64_t begin_;
  CsvGroups groups_;
  std::int64_t rows_ = 0;
  std::int64_t empty_lines_ = 0;
};

}  // namespace upsweep::io
