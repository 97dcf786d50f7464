// SPDX-License-Identifier: Apache-2.0
// sql/query/bind.hpp: converts a parse tree to a plan: resolves names to columns and determines all types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sql/query/plan.hpp"
#include "sql/query/sql.hpp"

namespace upsweep::query {

/// `table`: its name in messages. Throws Error unknown_column, unsupported_sql, bad_sql, unsupported_type, overflow.
/// All except the last show the position.
QueryPlan bind(const std::string& sql, const Syntax& syntax, const std::string& table,
               const std::vector<Field>& fields);

/// Returns whether a query has neither aggregates nor GROUP BY. Its answer consists of rows of the table.
bool selects_rows(const Syntax& syntax);

/// Returns the number after LIMIT of a query of rows without ORDER BY; otherwise nothing.
std::optional<std::int64_t> row_limit(const std::string& sql, const Syntax& syntax);

/// Returns the name after FROM, for a query without a path. Throws unsupported_sql if there is no name or more than
/// one.
std::string table_name(const std::string& sql, const Syntax& syntax);
/// Like the function above, with the catalog and the schema before the name: "main.t".
std::string full_table_name(const std::string& sql, const Syntax& syntax);
/// Returns the byte at which the table's name begins.
int table_location(const std::string& sql, const Syntax& syntax);

}  // namespace upsweep::query
