// SPDX-License-Identifier: Apache-2.0
// query/sql.cpp: hands a query to libpg_query, with what TPC-H and DuckDB write and PostgreSQL does not blanked out before.
#include "query/sql.hpp"

#include <fmt/format.h>
#include <pg_query.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "core/decimal.hpp"
#include "core/utf8.hpp"

namespace upsweep::query {
namespace {

// Longer ones could nest deeper than the parser's stack.
constexpr std::size_t kLongestQuery = 1 << 14;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

struct Token {
  enum Kind : std::uint8_t { word, quoted, string, number, symbol } kind;
  std::size_t begin;
  std::size_t end;
  bool open;  ///< a quote that is not closed
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
  /// Up to past the closing quote, which is written twice where it is meant; whether there is one.
  bool skip_quoted(char quote, bool backslashes) {
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
    for (int salt = 0; stem_.empty() || folded(sql).find(stem_) != std::string::npos; ++salt) {
      stem_ = fmt::format("_long_name_{}_", salt);
    }
  }

  std::string run(Syntax& syntax) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].open) {
        refuse(sql_, static_cast<int>(tokens_[i].begin), Code::bad_sql, "this quote is not closed");
      }
      shorten(tokens_[i]);
      if (is_file(i)) replace_path(i, syntax);
      follow(i);
      // interval '90' day (3): the digits of the unit, which the standard allows and nothing depends on.
      if (is_word(i, "interval") && is(i + 1, Token::string) && is(i + 2, Token::word) && is_symbol(i + 3, '(') &&
          is(i + 4, Token::number) && is_symbol(i + 5, ')')) {
        replace(tokens_[i + 3].begin, tokens_[i + 5].end, "");
      }
    }
    return text_;
  }

  /// Puts the long names back into a tree of the short ones.
  void lengthen(nlohmann::json& tree) const {
    if (tree.is_string()) {
      const auto found = names_.find(tree.get<std::string>());
      if (found != names_.end()) tree = found->second;
    } else if (tree.is_structured() && !names_.empty()) {
      for (auto& child : tree) lengthen(child);
    }
  }

 private:
  static constexpr std::size_t kLongestName = 63;

  /// A query, or what stands between parentheses.
  struct Level {
    bool is_query = true;
    bool in_from = false;
  };

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
  /// Not that of IS DISTINCT FROM.
  [[nodiscard]] bool is_from(std::size_t i) const {
    return is_word(i, "from") && (i == 0 || !is_word(i - 1, "distinct"));
  }
  /// Whether a string stands where a table does. There may be one table only, but that is the binder's to say: where the
  /// parser met a string, it would speak of a syntax error.
  [[nodiscard]] bool is_file(std::size_t i) const {
    if (i == 0 || !is(i, Token::string) || sql_[tokens_[i].begin] != '\'') return false;
    if (is_from(i - 1)) return levels_.back().is_query;
    return is_word(i - 1, "join") || (levels_.back().in_from && (is_symbol(i - 1, ',') || is_symbol(i - 1, '(')));
  }
  /// Keeps track of what the tokens up to this one have opened and not closed.
  void follow(std::size_t i) {
    constexpr std::string_view kEndsFrom[] = {"where",  "group", "having", "window", "order",     "limit",
                                              "offset", "fetch", "for",    "union",  "intersect", "except"};
    if (is_symbol(i, '(')) {
      const bool is_query = is_word(i + 1, "select") || is_word(i + 1, "with");
      if (begun_) levels_.push_back({is_query, !is_query && levels_.back().in_from});  // else they are around the query
      return;
    }
    begun_ = true;
    if (is_symbol(i, ')')) {
      if (levels_.size() > 1) levels_.pop_back();
    } else if (is_from(i)) {
      levels_.back().in_from = levels_.back().is_query;
    } else if (std::any_of(std::begin(kEndsFrom), std::end(kEndsFrom), [&](auto word) { return is_word(i, word); })) {
      levels_.back().in_from = false;
    }
  }
  /// By a text that is not longer, and blanks.
  void replace(std::size_t begin, std::size_t end, const std::string& text) {
    text_.replace(begin, end - begin, text + std::string(end - begin - text.size(), ' '));
  }

  /// The parser cuts names at 63 bytes, where a table may have columns that differ only after that: longer ones get a short
  /// stand-in, which nothing in the query is called.
  void shorten(const Token& token) {
    if ((token.kind != Token::word && token.kind != Token::quoted) || token.end - token.begin <= kLongestName) return;
    std::string name = token.kind == Token::word ? folded(text_of(token)) : unquoted(token);
    if (name.size() <= kLongestName) return;
    const std::string stand_in = stem_ + std::to_string(names_.size());
    replace(token.begin, token.end, stand_in);
    names_.emplace(stand_in, std::move(name));
  }
  /// What stands between quotes; a quote in it is written twice.
  [[nodiscard]] std::string unquoted(const Token& token) const {
    std::string content;
    for (std::size_t i = token.begin + 1; i + 1 < token.end; ++i) {
      content += sql_[i];
      if (sql_[i] == sql_[token.begin]) ++i;
    }
    return content;
  }

  /// The first file after the query's own FROM is what it reads.
  void replace_path(std::size_t i, Syntax& syntax) {
    const Token& token = tokens_[i];
    if (token.end - token.begin < 3) {
      refuse(sql_, static_cast<int>(token.begin), Code::bad_sql, "a path is needed after FROM");
    }
    if (syntax.path.empty() && levels_.size() == 1 && is_from(i - 1)) syntax.path = unquoted(token);
    replace(token.begin, token.end, "_t");  // which the binder does not look at
  }

  const std::string& sql_;
  std::string text_;
  std::vector<Token> tokens_;
  std::vector<Level> levels_{Level()};
  bool begun_ = false;                        ///< past the parentheses that the query may begin with
  std::map<std::string, std::string> names_;  ///< long names by their stand-ins
  std::string stem_;                          ///< of stand-ins: the query has it nowhere
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
  for (; number > 0 && at < text.size(); --number) at += std::max<std::size_t>(code_point(text, at).bytes, 1);
  return static_cast<int>(at);
}

/// The first byte that belongs to no code point; the end where all do.
std::size_t first_broken(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && code_point(text, at).bytes > 0) at += code_point(text, at).bytes;
  return at;
}

/// What the parser says of an error. It quotes up to the byte that it did not expect, which may be amid a character.
std::string message_of(const PgQueryError& error) {
  std::string message = error.message;
  for (std::size_t at = first_broken(message); at < message.size(); at = first_broken(message)) message.erase(at, 1);
  return message;
}

}  // namespace

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

Syntax parse(const std::string& sql) {
  if (sql.size() > kLongestQuery) {
    throw Error(Code::unsupported_sql, fmt::format("the query has {} bytes, more than {}", sql.size(), kLongestQuery));
  }
  if (const std::size_t bad = first_broken(sql); bad < sql.size()) {
    refuse(sql.substr(0, bad), static_cast<int>(bad), Code::bad_sql, "the query is not UTF-8 from here on");
  }
  if (const std::size_t nul = sql.find('\0'); nul != std::string::npos) {
    refuse(sql.substr(0, nul), static_cast<int>(nul), Code::bad_sql, "the query holds a zero byte");
  }
  Syntax syntax;
  Rewriter rewriter(sql);
  const std::string text = rewriter.run(syntax);
  const Parsed parsed(text);
  if (const PgQueryError* error = parsed.get().error) {
    const int location = error->cursorpos > 0 ? byte_of_character(text, error->cursorpos - 1) : 0;
    const bool is_subquery = error->message == std::string_view("subquery in FROM must have an alias");
    if (is_subquery) refuse(sql, location, Code::unsupported_sql, kOneTable);
    refuse(sql, location, Code::bad_sql, message_of(*error));
  }
  const auto tree = nlohmann::json::parse(parsed.get().parse_tree);
  const auto statements = tree.find("stmts");
  if (statements == tree.end() || statements->empty()) throw Error(Code::bad_sql, "the query is empty");
  if (statements->size() > 1) {
    const auto begin = static_cast<std::size_t>((*statements)[1].value("stmt_location", 0));
    const auto second = std::find_if_not(sql.begin() + static_cast<std::ptrdiff_t>(begin), sql.end(), is_blank);
    refuse(sql, static_cast<int>(second - sql.begin()), Code::unsupported_sql, "one query at a time");
  }
  const auto& statement = (*statements)[0].at("stmt");
  if (!statement.contains("SelectStmt")) throw Error(Code::unsupported_sql, "only SELECT is understood");
  syntax.select = statement.at("SelectStmt");
  rewriter.lengthen(syntax.select);
  return syntax;
}

}  // namespace upsweep::query
