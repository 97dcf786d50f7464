// SPDX-License-Identifier: Apache-2.0
// query/sql.hpp: from the text of a query to PostgreSQL's parse tree, and errors with a caret under what they are about.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "expression/caret.hpp"

namespace upsweep::query {

using expression::refuse;

/// What is said of any other table than the one after FROM.
inline constexpr const char* kOneTable = "one table per query: no joins, no subqueries";

/// A query as PostgreSQL's grammar sees it. Locations in the tree are bytes in the query as it was written.
struct Syntax {
  nlohmann::json select;  ///< the SelectStmt
  std::string path;       ///< what FROM '…' names; empty where FROM has a name
};

/// The first whole number in text that is no comment: 3 of "- (3)"; 0 where it does not fit.
std::int64_t first_number(std::string_view text);

/// The byte at which the first of these words stands outside parentheses and quotes; -1: none does. `words`: between
/// blanks, in lower case.
int location_of_word(std::string_view sql, std::string_view words);

/// With ASCII letters in lower case, as SQL compares names.
std::string folded(std::string_view text);

/// Throws Error bad_sql, unsupported_sql.
Syntax parse(const std::string& sql);

}  // namespace upsweep::query
