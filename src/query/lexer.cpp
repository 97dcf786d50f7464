// SPDX-License-Identifier: Apache-2.0
// query/lexer.cpp: cuts a query into tokens as PostgreSQL does: nested comments, four kinds of quotes.
#include "query/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/decimal.hpp"

namespace upsweep::query {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

}  // namespace

std::optional<Token> Lexer::next() {
  skip_blanks();
  if (at_ >= sql_.size()) return std::nullopt;
  const std::size_t begin = at_;
  const char c = sql_[at_];
  Token::Kind kind = Token::symbol;
  bool closed = true;
  if (c == '\'') {
    kind = Token::string;
    closed = skip_quoted('\'', false);
  } else if ((c == 'e' || c == 'E') && peek(1) == '\'') {
    kind = Token::string;
    ++at_;
    closed = skip_quoted('\'', true);
  } else if (c == '"') {
    kind = Token::quoted;
    closed = skip_quoted('"', false);
  } else if (c == '$' && skip_dollar_quoted()) {
    kind = Token::string;
  } else if (is_letter(c)) {
    kind = Token::word;
    while (at_ < sql_.size() && (is_letter(sql_[at_]) || is_digit(sql_[at_]) || sql_[at_] == '$')) ++at_;
  } else if (is_digit(c)) {
    kind = Token::number;
    while (at_ < sql_.size() && is_digit(sql_[at_])) ++at_;
  } else {
    ++at_;
  }
  return Token{kind, begin, at_, !closed};
}

void Lexer::skip_blanks() {
  for (;;) {
    while (at_ < sql_.size() && is_blank(sql_[at_])) ++at_;
    if (peek(0) == '-' && peek(1) == '-') {
      while (at_ < sql_.size() && sql_[at_] != '\n') ++at_;
    } else if (peek(0) == '/' && peek(1) == '*') {
      skip_comment();
    } else {
      return;
    }
  }
}
/// Comments nest.
void Lexer::skip_comment() {
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
}
/// Up to past the closing quote, which is written twice where it is meant; whether there is one.
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
bool Lexer::skip_dollar_quoted() {
  std::size_t tag_end = at_ + 1;
  while (tag_end < sql_.size() && is_letter(sql_[tag_end])) ++tag_end;
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

std::string folded(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
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
    const std::string text = folded(sql.substr(token->begin, token->end - token->begin));
    if (text == "(") ++depth;
    if (text == ")") --depth;
    if (depth == 0 && token->kind == Token::word && any.find(" " + text + " ") != std::string::npos) {
      return static_cast<int>(token->begin);
    }
  }
  return -1;
}

}  // namespace upsweep::query
