// SPDX-License-Identifier: Apache-2.0
// sql/query/lexer.cpp: splits a query into tokens as PostgreSQL does: nested comments, four kinds of quotes.
#include "sql/query/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/ascii.hpp"
#include "core/decimal.hpp"

namespace upsweep::query {
namespace {

bool is_letter(char c) { return is_ascii_letter(c) || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0; }

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

}  // namespace

std::optional<Token> Lexer::next() {
  const bool continues = skip_blanks();
  if (at_ >= sql_.size()) return std::nullopt;
  const std::size_t begin = at_;
  const char c = sql_[at_];
  Token::Kind kind = Token::symbol;
  bool closed = true;
  // A string that follows another one on a later line continues it, and has the same kind of escapes.
  const bool was_escaped = std::exchange(is_escaped_, false) && continues;
  if (const std::size_t prefix = string_prefix()) {
    kind = Token::string;
    is_escaped_ = prefix > 1 ? c == 'e' || c == 'E' : was_escaped;
    at_ += prefix - 1;
    closed = skip_quoted('\'', is_escaped_);
  } else if (c == '/' && peek(1) == '*') {  // skip_blanks() leaves only an unclosed comment
    closed = false;
    at_ = sql_.size();
  } else if (c == '"') {
    kind = Token::quoted;
    closed = skip_quoted('"', false);
  } else if (c == '$' && skip_dollar_quoted()) {
    kind = Token::string;
  } else if (is_letter(c)) {
    kind = Token::word;
    while (at_ < sql_.size() && (is_letter(sql_[at_]) || is_digit(sql_[at_]) || sql_[at_] == '$')) ++at_;
  } else if (is_digit(c)) {
    // Letters belong to the number, as in 0xFF and 1e5. The e in 1e'…' therefore does not begin a string.
    kind = Token::number;
    while (at_ < sql_.size() && (is_letter(sql_[at_]) || is_digit(sql_[at_]))) ++at_;
  } else {
    ++at_;
  }
  return Token{kind, begin, at_, !closed};
}

/// Returns the number of bytes that begin a string, or 0: 1 for '…', 2 for E'…', B'…', N'…' and X'…', 3 for U&'…'.
std::size_t Lexer::string_prefix() const {
  constexpr std::string_view kPrefixes = "eEbBnNxX";
  if (peek(0) == '\'') return 1;
  if (peek(1) == '\'') return kPrefixes.find(peek(0)) != std::string_view::npos ? 2 : 0;
  return (peek(0) == 'u' || peek(0) == 'U') && peek(1) == '&' && peek(2) == '\'' ? 3 : 0;
}

/// Returns whether a string after these blanks would continue a string before them. The blanks must contain the end of
/// a line, and no comments except those that end with their line.
bool Lexer::skip_blanks() {
  bool has_line_end = false;
  bool has_comment = false;
  for (;;) {
    for (; at_ < sql_.size() && is_blank(sql_[at_]); ++at_) has_line_end = has_line_end || is_line_end(sql_[at_]);
    if (peek(0) == '-' && peek(1) == '-') {
      while (at_ < sql_.size() && !is_line_end(sql_[at_])) ++at_;
    } else if (peek(0) == '/' && peek(1) == '*') {
      const std::size_t begin = at_;
      has_comment = true;
      if (!skip_comment()) {
        at_ = begin;
        return false;
      }
    } else {
      return has_line_end && !has_comment;
    }
  }
}
/// Skips a comment; comments nest. Returns false if it is not closed.
bool Lexer::skip_comment() {
  int depth = 0;
  do {
    if (peek(0) == '/' && peek(1) == '*') {
      ++depth;
      at_ += 2;
    } else if (peek(0) == '*' && peek(1) == '/') {
      --depth;
      at_ += 2;
    } else {
      ++at_;
    }
  } while (depth > 0 && at_ < sql_.size());
  return depth == 0;
}
/// Skips past the closing quote; a quote inside is written twice. Returns whether there is a closing quote.
bool Lexer::skip_quoted(char quote, bool backslashes) {
  for (++at_; at_ < sql_.size(); ++at_) {
    if (backslashes && sql_[at_] == '\\') {
      ++at_;
    } else if (sql_[at_] == quote) {
      ++at_;
      if (peek(0) != quote) return true;
    }
  }
  at_ = std::min(at_, sql_.size());
  return false;
}
/// Skips $tag$…$tag$; a tag is empty, or letters and digits after a letter. Returns false if no tag begins here.
bool Lexer::skip_dollar_quoted() {
  const std::size_t tag_begin = at_ + 1;
  std::size_t tag_end = tag_begin;
  const auto may_be_next = [&](char c) { return is_letter(c) || (tag_end > tag_begin && is_digit(c)); };
  while (tag_end < sql_.size() && may_be_next(sql_[tag_end])) ++tag_end;
  if (tag_end >= sql_.size() || sql_[tag_end] != '$') return false;
  const std::string_view tag = sql_.substr(at_, tag_end + 1 - at_);
  const std::size_t close = sql_.find(tag, tag_end + 1);
  at_ = close == std::string_view::npos ? sql_.size() : close + tag.size();
  return true;
}

std::string unquoted(std::string_view sql, const Token& token) {
  std::string content;
  for (std::size_t i = token.begin + 1; i + 1 < token.end; ++i) {
    content += sql[i];
    if (sql[i] == sql[token.begin]) ++i;
  }
  return content;
}

std::int64_t first_number(std::string_view text) {
  Lexer lexer(text);
  while (const auto token = lexer.next()) {
    if (token->kind != Token::number) continue;
    std::int64_t number = 0;
    (void)std::from_chars(text.data() + token->begin, text.data() + token->end, number);
    return number;
  }
  return 0;
}

int location_of_word(std::string_view sql, std::string_view words) {
  const std::string any = fmt::format(" {} ", words);
  Lexer lexer(sql);
  int depth = 0;
  while (const auto token = lexer.next()) {
    const std::string text = lower_case(sql.substr(token->begin, token->end - token->begin));
    if (text == "(") ++depth;
    if (text == ")") --depth;
    if (depth == 0 && token->kind == Token::word && any.find(" " + text + " ") != std::string::npos) {
      return static_cast<int>(token->begin);
    }
  }
  return -1;
}

}  // namespace upsweep::query
