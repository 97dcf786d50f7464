// SPDX-License-Identifier: Apache-2.0
// sql/query/sql.hpp: converts a query's text to PostgreSQL's parse tree; errors show a caret under their position.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sql/expression/caret.hpp"
#include "sql/query/lexer.hpp"
#include "sql/query/names.hpp"

namespace upsweep::query {

using expression::refuse;

/// A query as a tree of PostgreSQL's grammar. Locations in the tree are bytes of the original query.
struct Syntax {
  nlohmann::json select;  ///< the SelectStmt
  std::string path;       ///< the path of FROM '…'; empty if FROM has a name
  /// The names that may be columns: quoted names unchanged, others with ASCII letters in lower case.
  struct {
    std::set<std::string> exact;
    std::set<std::string> lower_case;
    bool all = false;  ///< the query selects *
  } columns;
  /// The parameters of lambdas, by the byte where a lambda begins, which is the location of its NamedArgExpr.
  std::map<int, std::vector<Name>> lambdas;
  /// The bytes of ALL in GROUP BY ALL and ORDER BY ALL, where the tree has a ParamRef.
  std::set<int> alls;
};

/// Returns a query that begins with FROM in PostgreSQL's order, SELECT … FROM …, and any other text unchanged. Without
/// the word SELECT, such a query selects *.
std::string select_first(std::string sql);

/// Parses a query. Throws Error bad_sql, unsupported_sql.
Syntax parse(const std::string& sql);

}  // namespace upsweep::query
