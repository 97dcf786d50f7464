// SPDX-License-Identifier: Apache-2.0
// sql/query/sql.hpp: from the text of a query to PostgreSQL's parse tree, and errors with a caret under what they are about.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sql/expression/caret.hpp"
#include "sql/query/lexer.hpp"

namespace upsweep::query {

using expression::refuse;

/// A query as PostgreSQL's grammar sees it. Locations in the tree are bytes in the query as it was written.
struct Syntax {
  nlohmann::json select;  ///< the SelectStmt
  std::string path;       ///< what FROM '…' names; empty where FROM has a name
  /// The names that may be columns: those in quotes as they are, others with ASCII letters in lower case.
  struct {
    std::set<std::string> exact;
    std::set<std::string> lower_case;
  } columns;
};

/// Throws Error bad_sql, unsupported_sql.
Syntax parse(const std::string& sql);

}  // namespace upsweep::query
