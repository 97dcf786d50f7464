// SPDX-License-Identifier: Apache-2.0
// sql/query/refusals.hpp: SQL syntax that queries do not support: each is refused by name, with an alternative.
#pragma once

#include <string>
#include <string_view>

#include "sql/query/tree.hpp"

namespace upsweep::query {

// All functions throw Error unsupported_sql with a caret.

/// Throws if the statement has an unsupported clause.
void require_clauses(const std::string& sql, const Json& select);
/// Throws unless there is exactly one table after FROM.
void require_one_table(const std::string& sql, const Json& from);
/// Throws if the call of an aggregate has DISTINCT, FILTER, ORDER BY or OVER.
void require_plain_call(const std::string& sql, const Json& call, int location);
/// Throws if the call of a scalar function has syntax for aggregates: *, DISTINCT, FILTER, ORDER BY or OVER.
void require_scalar_call(const std::string& sql, const Json& call, int location);

/// Refuses an unsupported function.
[[noreturn]] void refuse_function(const std::string& sql, const std::string& name, int location);
/// `kind`: the parse tree's name for the kind of operator.
[[noreturn]] void refuse_operator(const std::string& sql, std::string_view kind, std::string_view symbol, int location);
[[noreturn]] void refuse_cast(const std::string& sql, const std::string& type, int location);
/// `tag`: the parse tree's name for the expression.
[[noreturn]] void refuse_expression(const std::string& sql, std::string_view tag, int location);

/// The message for read_csv(…) and similar functions.
inline constexpr const char* kNoTableFunction =
    "functions after FROM are not supported: FROM 'FILE' reads a file, and FROM 'data/*.parquet' several";
/// The message for a subquery.
inline constexpr const char* kNoSubquery = "subqueries are not supported: a query reads one table";

}  // namespace upsweep::query
