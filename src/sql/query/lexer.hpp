// SPDX-License-Identifier: Apache-2.0
// sql/query/lexer.hpp: the tokens of a query, which distinguish names and keywords from quotes and comments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace upsweep::query {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

struct Token {
  enum Kind : std::uint8_t { word, quoted, string, number, symbol } kind;
  std::size_t begin;
  std::size_t end;
  bool open;  ///< a quote or comment that is not closed
};

class Lexer {
 public:
  /// Starts at byte `at`, which must not be inside a token.
  explicit Lexer(std::string_view sql, std::size_t at = 0) : sql_(sql), at_(at) {}

  std::optional<Token> next();

 private:
  [[nodiscard]] char peek(std::size_t ahead) const { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }
  [[nodiscard]] std::size_t string_prefix() const;
  bool skip_blanks();
  bool skip_comment();
  bool skip_quoted(char quote, bool backslashes);
  bool skip_dollar_quoted();

  std::string_view sql_;
  std::size_t at_;
  bool is_escaped_ = false;  ///< the previous token is a string with backslashes: E'…'
};

inline std::string_view text_of(std::string_view sql, const Token& token) {
  return sql.substr(token.begin, token.end - token.begin);
}
/// Returns the text between the token's quotes. A quote inside is written twice.
std::string unquoted(std::string_view sql, const Token& token);

/// Returns the first integer in text, outside of comments: 3 of "- (3)". Returns 0 if it does not fit.
std::int64_t first_number(std::string_view text);

/// Returns the byte at which the first of these words begins, outside parentheses and quotes, or -1. `words` are
/// separated by blanks, in lower case.
int location_of_word(std::string_view sql, std::string_view words);

}  // namespace upsweep::query
