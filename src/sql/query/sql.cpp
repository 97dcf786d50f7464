// SPDX-License-Identifier: Apache-2.0
// sql/query/sql.cpp: passes a query to libpg_query. Syntax of TPC-H and DuckDB that PostgreSQL lacks is blanked out
// first.
#include "sql/query/sql.hpp"

#include <fmt/format.h>
#include <pg_query.h>
#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "core/ascii.hpp"
#include "core/utf8.hpp"
#include "sql/query/list_program.hpp"
#include "sql/query/names.hpp"
#include "sql/query/refusals.hpp"
#include "sql/query/tree.hpp"

namespace upsweep::query {
namespace {

constexpr std::size_t kLongestQuery = std::size_t{4}
                                      << 20;  // fits IN lists of 100,000 strings; the parser's tree has 100 times that

// The parser recurses once per nested operator. It needs 130 bytes of stack for the two bytes of query text that an
// operator takes, as measured with libpg_query 15. Queries for which a small stack may not suffice are parsed on a
// separate stack.
constexpr std::size_t kParsedInPlace = 1 << 11;
constexpr std::size_t kStackOfByte = 192;
constexpr std::size_t kMinStack = 1 << 18;

// Nesting depth of braces and brackets of a tree. Expressions that are nested deeper than the binder allows have more.
constexpr int kDeepestTree = 2'000;

/// Rewrites the query to PostgreSQL's grammar, without changing the position of any byte.
class Rewriter {
 public:
  explicit Rewriter(const std::string& sql) : sql_(sql), text_(sql) {
    Lexer lexer(sql);
    std::size_t end = 0;
    while (const auto token = lexer.next()) {
      tokens_.push_back(*token);
      blank_out(end, token->begin);
      end = token->end;
    }
    blank_out(end, sql.size());
  }

  std::string run(Syntax& syntax) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].open) {
        const auto location = static_cast<int>(tokens_[i].begin);
        if (tokens_[i].kind != Token::symbol) refuse(sql_, location, Code::bad_sql, "this quote is not closed");
        refuse_path(tokens_[i].begin);
        refuse(sql_, location, Code::bad_sql, "this comment is not closed");
      }
      require_short_operator(i);
      shorten(tokens_[i]);
      if (is_file(i)) replace_path(i, syntax);
      replace_lambda(i, syntax);
      replace_all(i, syntax);
      follow(i);
      // interval '90' day (3): removes the digits of the unit, which the standard allows and which have no effect.
      if (is_word(i, "interval") && is(i + 1, Token::string) && is(i + 2, Token::word) && is_symbol(i + 3, '(') &&
          is(i + 4, Token::number) && is_symbol(i + 5, ')')) {
        replace(tokens_[i + 3].begin, tokens_[i + 5].end, "");
      }
      quote_interval(i);
    }
    return text_;
  }

  /// Restores the long names in a tree that has the short names.
  void lengthen(nlohmann::json& tree) const {
    if (tree.is_string()) {
      const auto found = names_.find(tree.get<std::string>());
      if (found != names_.end()) tree = found->second;
    } else if (tree.is_structured() && !names_.empty()) {
      for (auto& child : tree) lengthen(child);
    }
  }

  /// Throws the parser's message for the byte at `location`, in the words of the original query. If the intended
  /// meaning is known, the message says how to write it.
  [[noreturn]] void refuse_syntax(int location, std::string message) const {
    const auto at = static_cast<std::size_t>(location);
    const auto token = std::find_if(tokens_.begin(), tokens_.end(), [&](const Token& t) { return t.begin == at; });
    const auto place = static_cast<std::size_t>(token - tokens_.begin());
    if (place >= 2 && place < tokens_.size() && is_word(place - 2, "as") && is(place - 1, Token::word)) {
      const std::string_view name = text_of(tokens_[place - 1]);
      refuse(sql_, static_cast<int>(tokens_[place - 1].begin), Code::bad_sql,
             fmt::format("a name is needed after AS: {0} is a keyword; write the name as \"{0}\"", name));
    }
    if (place == 0 && place < tokens_.size()) {
      const std::size_t file = is_from(0) ? 1 : 0;
      const std::string rest = is(file, Token::string) ? std::string(text_of(tokens_[file])) : "'FILE'";
      refuse(sql_, location, Code::bad_sql,
             fmt::format("a query begins with SELECT, not with {}: SELECT COUNT(*) FROM {}", text_of(*token), rest));
    }
    if (place >= 1 && is(place, Token::string) && is_word(place - 1, "as")) {
      refuse(sql_, location, Code::bad_sql,
             fmt::format("write a name in double quotes: AS \"{}\"", unquoted(sql_, *token)));
    }
    if (const auto quoted = in_backticks(at)) {
      const auto before =
          std::find_if(tokens_.begin(), tokens_.end(), [&](const Token& t) { return t.begin >= quoted->begin; });
      const auto first = static_cast<std::size_t>(before - tokens_.begin());
      const std::string_view name = text_of(*quoted).substr(1, quoted->end - quoted->begin - 2);
      refuse(sql_, static_cast<int>(quoted->begin), Code::bad_sql,
             first > 0 && is_from(first - 1)
                 ? fmt::format("write a file name in single quotes, not in backticks: FROM '{}'", name)
                 : fmt::format("write a name in double quotes, not in backticks: \"{}\"", name));
    }
    if (place >= 1 && is_symbol(place, '[') && is_symbol(place - 1, ')')) {
      refuse(sql_, location, Code::bad_sql, "write a function in parentheses before [ ]: (f(x))[1]");
    }
    refuse_name(place);
    for (std::size_t i = 0; i + 2 < place && place < tokens_.size(); ++i) {
      if (!is_from(i) || !is(i + 1, Token::word) || !is_symbol(i + 2, '(')) continue;
      refuse(sql_, static_cast<int>(tokens_[i + 1].begin), Code::unsupported_sql, kNoTableFunction);
    }
    refuse_path(at);
    // Hide the substitutes of files and long names from the user.
    constexpr std::string_view kNear = " at or near \"";
    const std::size_t near = message.find(kNear);
    if (near != std::string::npos && token != tokens_.end() && text_of(*token) != query::text_of(text_, *token)) {
      message = fmt::format("{} at or near {}", message.substr(0, near), text_of(*token));
    }
    refuse(sql_, location, Code::bad_sql, message);
  }

 private:
  static constexpr std::size_t kLongestName = 63;

  /// Returns a name in backticks that begins at that byte, or ends before it. The parser treats backticks as operators.
  [[nodiscard]] std::optional<Token> in_backticks(std::size_t at) const {
    std::size_t begin = at;
    if (at >= sql_.size() || sql_[at] != '`') {
      while (at > 0 && is_blank(sql_[at - 1])) --at;
      if (at < 2 || sql_[at - 1] != '`') return std::nullopt;
      begin = sql_.rfind('`', at - 2);
    }
    const std::size_t end = begin == std::string::npos ? begin : sql_.find('`', begin + 1);
    if (end == std::string::npos || end == begin + 1) return std::nullopt;
    return Token{Token::quoted, begin, end + 1, false};
  }

  /// Returns the unquoted text after FROM, up to a blank. Byte `at` must be in it, and only a file name may have this
  /// form.
  [[nodiscard]] std::optional<Token> bare_path(std::size_t at) const {
    const auto is_end = [](char c) { return is_blank(c) || c == ';' || c == ',' || c == ')'; };
    std::size_t begin = std::min(at, sql_.size());
    std::size_t end = begin;
    while (begin > 0 && !is_end(sql_[begin - 1])) --begin;
    while (end < sql_.size() && !is_end(sql_[end])) ++end;
    for (std::size_t i = 1; i < tokens_.size() && tokens_[i].begin <= at; ++i) {
      const Token& first = tokens_[i];
      if (first.begin < begin || !is_from(i - 1) || first.kind == Token::string || first.kind == Token::quoted ||
          is_symbol(i, '(')) {
        continue;
      }
      const Token path{Token::word, first.begin, end, false};
      const bool is_path = text_of(path).find_first_of("./\\*") != std::string_view::npos;
      return is_path ? std::optional(path) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Throws if byte `at` is in a path without quotes.
  void refuse_path(std::size_t at) const {
    const auto path = bare_path(at);
    if (!path) return;
    refuse(sql_, static_cast<int>(path->begin), Code::bad_sql,
           fmt::format("write a file name in single quotes: FROM '{}'", text_of(*path)));
  }

  /// Throws if the unexpected token means a file or a column but is not written as one.
  void refuse_name(std::size_t place) const {
    if (place == 0 || place >= tokens_.size()) return;
    const Token& token = tokens_[place];
    const auto location = static_cast<int>(token.begin);
    if (token.kind == Token::string && is_from(place - 1)) {
      refuse(sql_, location, Code::bad_sql, "write a file name in plain single quotes: FROM 'FILE'");
    }
    constexpr std::string_view kBeforeNames[] = {"select", "where", "by",   "and",  "or",
                                                 "not",    "when",  "then", "else", "between"};
    const bool follows = (is(place - 1, Token::symbol) && !is_symbol(place - 1, ')')) ||
                         std::any_of(std::begin(kBeforeNames), std::end(kBeforeNames),
                                     [&](auto word) { return is_word(place - 1, word); });
    const bool is_name = follows && (place + 1 == tokens_.size() || is(place + 1, Token::symbol));
    if (token.kind != Token::word || !is_name) return;
    refuse(sql_, location, Code::bad_sql,
           fmt::format("{0} is a keyword; write a column of that name as \"{0}\"", text_of(token)));
  }

  /// The parser's time grows with the square of an operator's length.
  void require_short_operator(std::size_t i) {
    constexpr std::string_view kOperators = "+-*/<>=~!@#%^&|`?";
    const bool is_operator = is(i, Token::symbol) && kOperators.find(sql_[tokens_[i].begin]) != std::string_view::npos;
    const bool goes_on = is_operator && i > 0 && tokens_[i].begin == tokens_[i - 1].end;
    operator_bytes_ = is_operator ? (goes_on ? operator_bytes_ : 0) + 1 : 0;
    if (operator_bytes_ <= kLongestName) return;
    refuse(sql_, static_cast<int>(tokens_[i].begin), Code::bad_sql,
           fmt::format("an operator must have at most {} characters", kLongestName));
  }

  /// A query, or the text between parentheses.
  struct Level {
    bool is_query = true;
    bool in_from = false;
    bool takes_lambda = false;  ///< the arguments of a function such as list_filter
  };

  [[nodiscard]] bool is(std::size_t i, Token::Kind kind) const { return i < tokens_.size() && tokens_[i].kind == kind; }
  [[nodiscard]] std::string_view text_of(const Token& token) const { return query::text_of(sql_, token); }
  [[nodiscard]] bool is_word(std::size_t i, std::string_view word) const {
    return is(i, Token::word) && tokens_[i].end - tokens_[i].begin == word.size() &&
           lower_case(text_of(tokens_[i])) == word;
  }
  [[nodiscard]] bool is_symbol(std::size_t i, char symbol) const {
    return is(i, Token::symbol) && sql_[tokens_[i].begin] == symbol;
  }
  /// Returns whether the token is FROM, but not that of IS DISTINCT FROM.
  [[nodiscard]] bool is_from(std::size_t i) const {
    return is_word(i, "from") && (i == 0 || !is_word(i - 1, "distinct"));
  }
  /// Returns whether a string is in the place of a table. Only one table is allowed, but the binder reports that. The
  /// parser would only report a syntax error at a string.
  [[nodiscard]] bool is_file(std::size_t i) const {
    if (i == 0 || !is(i, Token::string) || sql_[tokens_[i].begin] != '\'') return false;
    if (is_from(i - 1)) return levels_.back().is_query;
    if (is_symbol(i - 1, '(') && is_function(i - 2)) return false;
    return is_word(i - 1, "join") || (levels_.back().in_from && (is_symbol(i - 1, ',') || is_symbol(i - 1, '(')));
  }
  /// Returns whether the word before a parenthesis may be a function, as in read_csv('t.csv').
  [[nodiscard]] bool is_function(std::size_t i) const {
    return is(i, Token::word) && !is_from(i) && !is_word(i, "join") && !is_word(i, "as") && !is_word(i, "lateral");
  }
  /// Updates the open parentheses and clauses for the token.
  void follow(std::size_t i) {
    constexpr std::string_view kEndsFrom[] = {"where",  "group", "having", "window", "order",     "limit",
                                              "offset", "fetch", "for",    "union",  "intersect", "except"};
    if (is_symbol(i, '(')) {
      const bool is_query = is_word(i + 1, "select") || is_word(i + 1, "with");
      const ListFunctionNames* const function =
          is(i - 1, Token::word) ? list_function_named(lower_case(text_of(tokens_[i - 1]))) : nullptr;
      const bool takes_lambda = function != nullptr && is_list(function->function);
      // or they enclose the query
      if (begun_) levels_.push_back({is_query, !is_query && levels_.back().in_from, takes_lambda});
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
  /// Reads names that are separated by commas, from token `i` on. Returns them, and the token after them.
  [[nodiscard]] std::pair<std::vector<Name>, std::size_t> names_from(std::size_t i) const {
    std::vector<Name> names;
    for (;; ++i) {
      if (!is(i, Token::word) && !is(i, Token::quoted)) return {{}, i};
      const bool is_quoted = tokens_[i].kind == Token::quoted;
      names.push_back({is_quoted ? unquoted(sql_, tokens_[i]) : std::string(text_of(tokens_[i])), is_quoted});
      if (!is_symbol(++i, ',')) return {std::move(names), i};
    }
  }
  /// Replaces the head of a lambda, which PostgreSQL lacks, by that of a named argument: `x -> x > 20` and
  /// `lambda x: x > 20` become `_=> x > 20`. Both bodies extend to the end of the argument.
  void replace_lambda(std::size_t i, Syntax& syntax) {
    if (!levels_.back().takes_lambda || i == 0 || !is_symbol(i - 1, ',')) return;
    const bool is_keyword = is_word(i, "lambda") && (is(i + 1, Token::word) || is(i + 1, Token::quoted));
    const bool has_parentheses = is_symbol(i, '(');
    auto [names, end] = names_from(is_keyword || has_parentheses ? i + 1 : i);
    if (names.empty()) return;
    if (has_parentheses && !is_symbol(end++, ')')) return;
    if (!is_keyword &&
        !(is_symbol(end, '-') && is_symbol(end + 1, '>') && tokens_[end].end == tokens_[end + 1].begin)) {
      return;
    }
    if (is_keyword && !is_symbol(end, ':')) return;
    const std::size_t begin = tokens_[i].begin;
    for (std::size_t token = i; token < end; ++token) {
      if (tokens_[token].end - tokens_[token].begin <= kLongestName) continue;
      refuse(sql_, static_cast<int>(tokens_[token].begin), Code::bad_sql,
             fmt::format("the name of a parameter must have at most {} characters", kLongestName));
    }
    replace(begin, tokens_[is_keyword ? end : end + 1].end, "_=>");
    syntax.lambdas.emplace(static_cast<int>(begin), std::move(names));
  }
  /// Replaces the ALL of GROUP BY ALL and ORDER BY ALL, which PostgreSQL lacks, by a parameter.
  void replace_all(std::size_t i, Syntax& syntax) {
    constexpr std::string_view kAfter[] = {"having", "window", "order", "limit", "offset",
                                           "fetch",  "asc",    "desc",  "nulls"};
    const bool is_of_clause =
        i > 1 && is_word(i, "all") && is_word(i - 1, "by") && (is_word(i - 2, "group") || is_word(i - 2, "order"));
    const bool is_alone = !is(i + 1, Token::word) || std::any_of(std::begin(kAfter), std::end(kAfter),
                                                                 [&](auto word) { return is_word(i + 1, word); });
    if (!is_of_clause || !is_alone) return;
    replace(tokens_[i].begin, tokens_[i].end, "$1");
    syntax.alls.insert(static_cast<int>(tokens_[i].begin));
  }
  /// Replaces bytes by a text that is not longer, padded with blanks.
  void replace(std::size_t begin, std::size_t end, const std::string& text) {
    text_.replace(begin, end - begin, text + std::string(end - begin - text.size(), ' '));
  }

  /// interval 2 hour, which DuckDB allows, becomes interval '2hour'. The quotes replace two blanks.
  void quote_interval(std::size_t i) {
    if (!is_word(i, "interval") || !is(i + 1, Token::number) || !is(i + 2, Token::word)) return;
    const std::size_t begin = tokens_[i + 1].begin - 1;
    const std::size_t end = tokens_[i + 2].end;
    const std::string quoted = fmt::format("'{}{}'", text_of(tokens_[i + 1]), text_of(tokens_[i + 2]));
    if (begin >= tokens_[i].end && quoted.size() <= end - begin) replace(begin, end, quoted);
  }

  /// Blanks out comments, because the parser's time grows with the square of their length. Keeps line ends, after which
  /// a string may continue.
  void blank_out(std::size_t begin, std::size_t end) {
    std::replace_if(
        text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.begin() + static_cast<std::ptrdiff_t>(end),
        [](char c) { return !is_blank(c); }, ' ');
  }

  /// Returns a prefix for substitutes that does not occur in the query.
  [[nodiscard]] std::string free_stem() const {
    constexpr std::string_view kStem = "_long_name_";
    const std::string lower = lower_case(sql_);
    std::set<std::size_t> used;
    for (std::size_t at = lower.find(kStem); at != std::string::npos; at = lower.find(kStem, at + 1)) {
      std::size_t number = 0;
      const char* const digits = lower.data() + at + kStem.size();
      if (std::from_chars(digits, lower.data() + lower.size(), number).ec == std::errc()) used.insert(number);
    }
    std::size_t salt = 0;
    while (used.contains(salt)) ++salt;
    return fmt::format("{}{}_", kStem, salt);
  }

  /// The parser truncates names to 63 bytes, but columns of a table may differ only after that. Longer names are
  /// replaced by a short substitute that occurs nowhere in the query.
  void shorten(const Token& token) {
    if ((token.kind != Token::word && token.kind != Token::quoted) || token.end - token.begin <= kLongestName) return;
    std::string name = token.kind == Token::word ? lower_case(text_of(token)) : unquoted(sql_, token);
    if (name.size() <= kLongestName) return;
    if (stem_.empty()) stem_ = free_stem();
    const std::string stand_in = stem_ + std::to_string(names_.size());
    replace(token.begin, token.end, stand_in);
    names_.emplace(stand_in, std::move(name));
  }
  /// The first file after the FROM of the outermost query is its table.
  void replace_path(std::size_t i, Syntax& syntax) {
    const Token& token = tokens_[i];
    if (token.end - token.begin < 3) {
      refuse(sql_, static_cast<int>(token.begin), Code::bad_sql, "a file path is needed after FROM");
    }
    if (syntax.path.empty() && levels_.size() == 1 && is_from(i - 1)) syntax.path = unquoted(sql_, token);
    replace(token.begin, token.end, "_t");  // nothing reads this name
  }

  const std::string& sql_;
  std::string text_;
  std::vector<Token> tokens_;
  std::vector<Level> levels_{Level()};
  bool begun_ = false;                        ///< past the parentheses at the start of the query
  std::map<std::string, std::string> names_;  ///< long names by their substitutes
  std::string stem_;                          ///< prefix of substitutes; empty if there are none
  std::size_t operator_bytes_ = 0;            ///< bytes of the operator up to the current token
};

/// Runs f on a stack of `bytes` bytes.
template <class F>
void run_on_stack(std::size_t bytes, F f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread{};
  const auto run = [](void* called) -> void* {
    (*static_cast<F*>(called))();
    return nullptr;
  };
  const int failure = pthread_create(&thread, &attributes, run, &f);
  pthread_attr_destroy(&attributes);
  if (failure != 0)
    throw Error(Code::out_of_memory, fmt::format("no memory for a stack of {} bytes to parse the query", bytes));
  pthread_join(thread, nullptr);
}

/// The result of libpg_query, freed by the destructor.
class Parsed {
 public:
  explicit Parsed(const std::string& text) {
    const auto parse = [&] { result_ = pg_query_parse(text.c_str()); };
    if (text.size() <= kParsedInPlace) {
      parse();
    } else {
      run_on_stack(kMinStack + kStackOfByte * text.size(), parse);
    }
  }
  ~Parsed() { pg_query_free_parse_result(result_); }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;
  [[nodiscard]] const PgQueryParseResult& get() const { return result_; }

 private:
  PgQueryParseResult result_{};
};

/// Returns the nesting depth of the objects and arrays of JSON.
int depth_of(std::string_view json) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

/// Returns the byte at which character `number` of UTF-8 text begins.
int byte_of_character(const std::string& text, int number) {
  std::size_t at = 0;
  for (; number > 0 && at < text.size(); --number) at += std::max<std::size_t>(code_point(text, at).bytes, 1);
  return static_cast<int>(at);
}

/// Returns the first byte that belongs to no code point, or the end.
std::size_t first_broken(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && code_point(text, at).bytes > 0) at += code_point(text, at).bytes;
  return at;
}

/// Returns the parser's message. It quotes up to the unexpected byte, which may be inside a character.
std::string message_of(const PgQueryError& error) {
  std::string message = error.message;
  for (std::size_t at = first_broken(message); at < message.size(); at = first_broken(message)) message.erase(at, 1);
  return message;
}

}  // namespace

namespace {

/// Adds every field of the names that may be columns: x of s.x, or s if it is not a table.
void add_columns(const std::string& sql, const nlohmann::json& tree, Syntax& syntax) {
  if (!tree.is_structured()) return;
  const auto column = tree.is_object() ? tree.find("ColumnRef") : tree.end();
  if (column == tree.end()) {
    for (const nlohmann::json& child : tree) add_columns(sql, child, syntax);
    return;
  }
  const Json& fields = column->at("fields");
  const std::vector<Name> names = names_at(sql, location_of(*column, -1), fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].contains("A_Star")) syntax.columns.all = true;
    if (!fields[i].contains("String")) continue;
    if (i < names.size() && !names[i].quoted) {
      syntax.columns.lower_case.insert(lower_case(names[i].text));
    } else {
      syntax.columns.exact.insert(string_of(fields[i]));
    }
  }
}

}  // namespace

Syntax parse(const std::string& sql) {
  if (sql.size() > kLongestQuery) {
    throw Error(Code::unsupported_sql,
                fmt::format("the query has {} bytes, more than {}: store long lists of values in a table", sql.size(),
                            kLongestQuery));
  }
  if (const std::size_t bad = first_broken(sql); bad < sql.size()) {
    refuse(sql.substr(0, bad), static_cast<int>(bad), Code::bad_sql, "the query is not UTF-8 from here on");
  }
  if (const std::size_t nul = sql.find('\0'); nul != std::string::npos) {
    refuse(sql.substr(0, nul), static_cast<int>(nul), Code::bad_sql, "the query contains a zero byte");
  }
  Syntax syntax;
  Rewriter rewriter(sql);
  const std::string text = rewriter.run(syntax);
  const Parsed parsed(text);
  if (const PgQueryError* error = parsed.get().error) {
    const int location = error->cursorpos > 0 ? byte_of_character(text, error->cursorpos - 1) : 0;
    const bool is_subquery = error->message == std::string_view("subquery in FROM must have an alias");
    if (is_subquery) refuse(sql, location, Code::unsupported_sql, kNoSubquery);
    rewriter.refuse_syntax(location, message_of(*error));
  }
  if (depth_of(parsed.get().parse_tree) > kDeepestTree) {
    throw Error(Code::unsupported_sql, "the query's expressions are nested too deeply: write shorter expressions");
  }
  auto tree = nlohmann::json::parse(parsed.get().parse_tree);
  const auto statements = tree.find("stmts");
  if (statements == tree.end() || statements->empty()) throw Error(Code::bad_sql, "the query is empty");
  if (statements->size() > 1) {
    const auto begin = static_cast<std::size_t>((*statements)[1].value("stmt_location", 0));
    const auto second = std::find_if_not(sql.begin() + static_cast<std::ptrdiff_t>(begin), sql.end(), is_blank);
    refuse(sql, static_cast<int>(second - sql.begin()), Code::unsupported_sql, "only one query at a time is supported");
  }
  auto& statement = (*statements)[0].at("stmt");
  if (!statement.contains("SelectStmt")) {
    throw Error(Code::unsupported_sql, "only SELECT is supported: queries read tables and do not change them");
  }
  syntax.select = std::move(statement.at("SelectStmt"));
  rewriter.lengthen(syntax.select);
  add_columns(sql, syntax.select, syntax);
  return syntax;
}

}  // namespace upsweep::query
