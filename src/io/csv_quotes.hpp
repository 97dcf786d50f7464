// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.hpp: follows the quotes of CSV through text that comes in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/format.hpp"

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

/// Follows the quotes from the start of a file on.
class CsvQuotes {
 public:
  /// False where text follows a closing quote; then nothing more may be asked but opened().
  bool accept(std::string_view piece);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }    ///< accepted so far
  [[nodiscard]] std::int64_t opened() const { return opened_; }  ///< where the last quote is that opened a field
  [[nodiscard]] bool open() const { return state_ == QuoteState::quoted; }
  [[nodiscard]] char last() const { return last_; }

 private:
  bool accept_group(const char* bytes, std::int64_t place);
  bool accept_each(std::string_view bytes, std::int64_t place);

  QuoteState state_ = QuoteState::plain;
  std::int64_t bytes_ = 0;
  std::int64_t opened_ = 0;
  char last_ = '\n';  // the byte before the one at hand
};

}  // namespace upsweep::io
