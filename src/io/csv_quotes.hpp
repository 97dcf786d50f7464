// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.hpp: follows the quotes of CSV through text that comes in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace upsweep::io {

constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }
constexpr bool ends_field(char c) { return c == ',' || ends_line(c); }

/// The bytes that some programs begin a file with, to say that it is UTF-8.
constexpr std::size_t size_of_mark(std::string_view text) { return text.starts_with("\xef\xbb\xbf") ? 3 : 0; }

/// A field that begins with a quote goes on to the next one that is not doubled, after which the field ends. Any other
/// quote is a letter.
class CsvQuotes {
 public:
  /// False where text follows a closing quote; then nothing more may be asked but opened().
  bool accept(std::string_view piece);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }    ///< accepted so far
  [[nodiscard]] std::int64_t opened() const { return opened_; }  ///< where the last quote is that opened a field
  [[nodiscard]] bool open() const { return state_ == State::quoted; }
  [[nodiscard]] char last() const { return last_; }

 private:
  enum class State : std::uint8_t {
    plain,
    quoted,
    closed,  // by a quote, unless it is the first of two
  };

  bool accept_group(const char* bytes, std::int64_t place);
  bool accept_each(std::string_view bytes, std::int64_t place);

  State state_ = State::plain;
  std::int64_t bytes_ = 0;
  std::int64_t opened_ = 0;
  char last_ = '\n';  // the byte before the one at hand
};

}  // namespace upsweep::io
