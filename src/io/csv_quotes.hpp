// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.hpp: follows the quotes of CSV, and counts its rows, through text that comes in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace upsweep::io {

constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }
constexpr bool ends_field(char c) { return c == ',' || ends_line(c); }

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

/// Follows the quotes from a place where a row starts, and counts the rows whose ends it passes.
class CsvQuotes {
 public:
  /// `begin`: that place, in bytes from the start of the file.
  explicit CsvQuotes(std::int64_t begin = 0) : bytes_(begin) {}

  /// False where text follows a closing quote; then nothing more may be asked but opened().
  bool accept(std::string_view piece);
  /// The same up to the end of the row at hand; returns the number of bytes, or npos in place of false. Only what follows
  /// tells whether the row ends with the text: then that many are all.
  std::size_t accept_row(std::string_view text);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }    ///< the place in the file
  [[nodiscard]] std::int64_t opened() const { return opened_; }  ///< where the last quote is that opened a field
  [[nodiscard]] bool open() const { return state_ == QuoteState::quoted; }
  [[nodiscard]] char last() const { return last_; }
  /// As Arrow counts them: empty lines are rows where a file has one column.
  [[nodiscard]] std::int64_t rows(bool one_column) const { return one_column ? rows_ + empty_lines_ : rows_; }

 private:
  bool accept_group(const char* bytes);
  bool accept_each(std::string_view bytes);
  void end_line(char c);

  QuoteState state_ = QuoteState::plain;
  std::int64_t bytes_;
  std::int64_t opened_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t empty_lines_ = 0;
  char last_ = '\n';  // the byte before the one at hand
};

}  // namespace upsweep::io
