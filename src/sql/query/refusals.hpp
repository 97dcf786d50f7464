// SPDX-License-Identifier: Apache-2.0
// sql/query/refusals.hpp: what SQL has and queries do not: each refused by its own name, with what to write instead.
#pragma once

#include <string>
#include <string_view>

#include "sql/query/tree.hpp"

namespace upsweep::query {

// All throw Error unsupported_sql with a caret.

/// Throws if the statement has a clause that queries do not have.
void require_clauses(const std::string& sql, const Json& select);
/// Throws unless there is one table after FROM.
void require_one_table(const std::string& sql, const Json& from);
/// Throws if the call of an aggregate has DISTINCT, FILTER, ORDER BY or OVER.
void require_plain_call(const std::string& sql, const Json& call, int location);
/// Throws if the call of a scalar function has what only an aggregate takes: *, DISTINCT, FILTER, ORDER BY or OVER.
void require_scalar_call(const std::string& sql, const Json& call, int location);

/// A function that queries do not have.
[[noreturn]] void refuse_function(const std::string& sql, const std::string& name, int location);
/// `kind`: the tree's name of the sort of operator.
[[noreturn]] void refuse_operator(const std::string& sql, std::string_view kind, std::string_view symbol, int location);
[[noreturn]] void refuse_cast(const std::string& sql, const std::string& type, int location);
/// `tag`: the tree's name of the expression.
[[noreturn]] void refuse_expression(const std::string& sql, std::string_view tag, int location);

/// What is said of read_csv(…) and the like.
inline constexpr const char* kNoTableFunction =
    "functions after FROM are not supported: FROM 'FILE' reads a file, and FROM 'data/*.parquet' several";
/// What is said of a subquery.
inline constexpr const char* kNoSubquery = "subqueries are not supported: a query reads one table";

}  // namespace upsweep::query
