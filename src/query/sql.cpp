// SPDX-License-Identifier: Apache-2.0
// query/sql.cpp: hands a query to libpg_query, with what TPC-H and DuckDB write and PostgreSQL does not blanked out before.
#include "query/sql.hpp"

#include <fmt/format.h>
#include <pg_query.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace upsweep::query {
namespace {

// Longer ones could nest deeper than the parser's stack.
constexpr std::size_t kLongestQuery = 1 << 14;
// Of the line that an error shows, around the place it is about.
constexpr std::size_t kShownBefore = 60;
constexpr std::size_t kShownAfter = 18;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Token {
  enum Kind { word, quoted, string, number, symbol } kind;
  std::size_t begin;
  std::size_t end;
};

/// The tokens of a query, as far as it takes to tell words from what is quoted or commented out.
class Lexer {
 public:
  explicit Lexer(std::string_view sql) : sql_(sql) {}

  std::optional<Token> next() {
    skip_blanks();
    if (at_ >= sql_.size()) return std::nullopt;
    const std::size_t begin = at_;
    const char c = sql_[at_];
    Token::Kind kind = Token::symbol;
    if (c == '\'') {
      kind = Token::string;
      skip_quoted('\'', false);
    } else if ((c == 'e' || c == 'E') && peek(1) == '\'') {
      kind = Token::string;
      ++at_;
      skip_quoted('\'', true);
    } else if (c == '"') {
      kind = Token::quoted;
      skip_quoted('"', false);
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
    return Token{kind, begin, at_};
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead) const { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }

  void skip_blanks() {
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
  void skip_comment() {
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
  /// Up to behind the closing quote, which is written twice where it is meant.
  void skip_quoted(char quote, bool backslashes) {
    for (++at_; at_ < sql_.size(); ++at_) {
      if (backslashes && sql_[at_] == '\\') {
        ++at_;
      } else if (sql_[at_] == quote) {
        ++at_;
        if (peek(0) != quote) return;
      }
    }
    at_ = std::min(at_, sql_.size());
  }
  bool skip_dollar_quoted() {
    std::size_t tag_end = at_ + 1;
    while (tag_end < sql_.size() && is_letter(sql_[tag_end])) ++tag_end;
    if (tag_end >= sql_.size() || sql_[tag_end] != '$') return false;
    const std::string_view tag = sql_.substr(at_, tag_end + 1 - at_);
    const std::size_t close = sql_.find(tag, tag_end + 1);
    at_ = close == std::string_view::npos ? sql_.size() : close + tag.size();
    return true;
  }

  std::string_view sql_;
  std::size_t at_ = 0;
};

/// The query in words of PostgreSQL's grammar, byte for byte as long.
class Rewriter {
 public:
  explicit Rewriter(const std::string& sql) : sql_(sql), text_(sql) {
    Lexer lexer(sql);
    while (const auto token = lexer.next()) tokens_.push_back(*token);
  }

  std::string run(Syntax& syntax) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is_word(i, "from") && is(i + 1, Token::string) && sql_[tokens_[i + 1].begin] == '\'') {
        replace_path(tokens_[i + 1], syntax);
      }
      // interval '90' day (3): the digits of the unit, which the standard allows and nothing depends on.
      if (is_word(i, "interval") && is(i + 1, Token::string) && is(i + 2, Token::word) && is_symbol(i + 3, '(') &&
          is(i + 4, Token::number) && is_symbol(i + 5, ')')) {
        blank(tokens_[i + 3].begin, tokens_[i + 5].end);
      }
    }
    return text_;
  }

 private:
  [[nodiscard]] bool is(std::size_t i, Token::Kind kind) const { return i < tokens_.size() && tokens_[i].kind == kind; }
  [[nodiscard]] std::string_view text_of(const Token& token) const {
    return std::string_view(sql_).substr(token.begin, token.end - token.begin);
  }
  [[nodiscard]] bool is_word(std::size_t i, std::string_view word) const {
    return is(i, Token::word) && folded(text_of(tokens_[i])) == word;
  }
  [[nodiscard]] bool is_symbol(std::size_t i, char symbol) const {
    return is(i, Token::symbol) && sql_[tokens_[i].begin] == symbol;
  }
  void blank(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) text_[i] = ' ';
  }

  void replace_path(const Token& token, Syntax& syntax) {
    const int location = static_cast<int>(token.begin);
    if (!syntax.path.empty()) refuse(sql_, location, Code::unsupported_sql, "one table per query");
    if (token.end - token.begin < 3) refuse(sql_, location, Code::bad_sql, "a path is needed behind FROM");
    for (std::size_t i = token.begin + 1; i + 1 < token.end; ++i) {
      syntax.path += sql_[i];
      if (sql_[i] == '\'') ++i;  // written twice
    }
    syntax.path_location = location;
    blank(token.begin, token.end);
    std::copy(kPathName.begin(), kPathName.end(), text_.begin() + static_cast<std::ptrdiff_t>(token.begin));
  }

  const std::string& sql_;
  std::string text_;
  std::vector<Token> tokens_;
};

/// What libpg_query answers, given back when this goes.
class Parsed {
 public:
  explicit Parsed(const std::string& text) : result_(pg_query_parse(text.c_str())) {}
  ~Parsed() { pg_query_free_parse_result(result_); }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;
  [[nodiscard]] const PgQueryParseResult& get() const { return result_; }

 private:
  PgQueryParseResult result_;
};

/// The byte at which character `number` of UTF-8 text begins.
int byte_of_character(const std::string& text, int number) {
  std::size_t at = 0;
  while (number > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    --number;
  }
  return static_cast<int>(at);
}

/// Characters of UTF-8 text.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string folded(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

void refuse(const std::string& sql, int location, Code code, const std::string& what, std::int64_t index) {
  const std::size_t at = std::min(static_cast<std::size_t>(std::max(location, 0)), sql.size());
  const std::size_t line_begin = at == 0 ? 0 : sql.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  std::size_t line_end = std::min(sql.find('\n', at), sql.size());
  std::size_t begin = line_begin;
  std::string_view dots;
  if (at - begin > kShownBefore) {
    begin = at - kShownBefore;
    while (begin < at && (static_cast<unsigned char>(sql[begin]) & 0xC0) == 0x80) ++begin;
    dots = "…";
  }
  if (line_end - at > kShownAfter) {
    line_end = at + kShownAfter;
    while (line_end > at && line_end < sql.size() && (static_cast<unsigned char>(sql[line_end]) & 0xC0) == 0x80)
      --line_end;
  }
  std::string shown = fmt::format("{}{}", dots, sql.substr(begin, line_end - begin));
  std::replace_if(shown.begin(), shown.end(), is_blank, ' ');
  const std::size_t before = width_of(dots) + width_of(std::string_view(sql).substr(begin, at - begin));
  throw Error(code, fmt::format("{}\n  {}\n  {}^", what, shown, std::string(before, ' ')),
              index == kNoIndex ? static_cast<std::int64_t>(at) : index);
}

Syntax parse(const std::string& sql) {
  if (sql.size() > kLongestQuery) {
    throw Error(Code::unsupported_sql, fmt::format("the query has {} bytes, more than {}", sql.size(), kLongestQuery));
  }
  if (const std::size_t nul = sql.find('\0'); nul != std::string::npos) {
    refuse(sql.substr(0, nul), static_cast<int>(nul), Code::bad_sql, "the query holds a zero byte");
  }
  Syntax syntax;
  const std::string text = Rewriter(sql).run(syntax);
  const Parsed parsed(text);
  if (const PgQueryError* error = parsed.get().error) {
    const int location = error->cursorpos > 0 ? byte_of_character(text, error->cursorpos - 1) : 0;
    refuse(sql, location, Code::bad_sql, error->message);
  }
  const auto tree = nlohmann::json::parse(parsed.get().parse_tree);
  const auto statements = tree.find("stmts");
  if (statements == tree.end() || statements->empty()) throw Error(Code::bad_sql, "the query is empty");
  if (statements->size() > 1) {
    refuse(sql, (*statements)[1].value("stmt_location", 0), Code::unsupported_sql, "one query at a time");
  }
  const auto& statement = (*statements)[0].at("stmt");
  if (!statement.contains("SelectStmt")) throw Error(Code::unsupported_sql, "only SELECT is understood");
  syntax.select = statement.at("SelectStmt");
  return syntax;
}

}  // namespace upsweep::query
