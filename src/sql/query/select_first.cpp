// SPDX-License-Identifier: Apache-2.0
// sql/query/select_first.cpp: DuckDB's FROM t SELECT x, in the order of PostgreSQL's grammar.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ascii.hpp"
#include "sql/query/lexer.hpp"
#include "sql/query/sql.hpp"

namespace upsweep::query {
namespace {

/// The tokens of a query that are outside all parentheses.
std::vector<Token> outer_tokens(std::string_view sql) {
  std::vector<Token> tokens;
  int depth = 0;
  Lexer lexer(sql);
  while (const std::optional<Token> token = lexer.next()) {
    const char symbol = token->kind == Token::symbol ? sql[token->begin] : '\0';
    if (symbol == ')') --depth;
    if (depth == 0 && symbol != ')') tokens.push_back(*token);
    if (symbol == '(') ++depth;
  }
  return tokens;
}

}  // namespace

std::string select_first(std::string sql) {
  const std::vector<Token> tokens = outer_tokens(sql);
  const auto is_word = [&](std::size_t i, std::string_view word) {
    return i < tokens.size() && tokens[i].kind == Token::word && lower_case(text_of(sql, tokens[i])) == word;
  };
  if (!is_word(0, "from")) return sql;
  // Returns whether a clause after SELECT begins there. WITHIN GROUP is not such a clause.
  const auto begins_clause = [&](std::size_t i) {
    constexpr std::string_view kClauses[] = {"where", "having", "window", "limit", "offset", "fetch", "for"};
    if (is_word(i, "group") || is_word(i, "order")) return is_word(i + 1, "by");
    return (tokens[i].kind == Token::symbol && sql[tokens[i].begin] == ';') ||
           std::any_of(std::begin(kClauses), std::end(kClauses), [&](auto word) { return is_word(i, word); });
  };
  const auto begin_of = [&](std::size_t i) { return i < tokens.size() ? tokens[i].begin : sql.size(); };
  std::size_t select = 1;
  while (select < tokens.size() && !begins_clause(select) && !is_word(select, "select")) ++select;
  const bool has_select = is_word(select, "select");
  std::size_t clauses = select;
  while (clauses < tokens.size() && !begins_clause(clauses)) ++clauses;
  // Line ends end comments.
  const std::string selected =
      has_select ? sql.substr(begin_of(select), begin_of(clauses) - begin_of(select)) : "SELECT *";
  return sql.substr(0, begin_of(0)) + selected + "\n" + sql.substr(begin_of(0), begin_of(select) - begin_of(0)) + "\n" +
         sql.substr(begin_of(clauses));
}

}  // namespace upsweep::query
