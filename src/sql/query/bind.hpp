// SPDX-License-Identifier: Apache-2.0
// sql/query/bind.hpp: from the parse tree to a plan: names become columns, every expression gets its type.
#pragma once

#include <string>
#include <vector>

#include "sql/query/plan.hpp"
#include "sql/query/sql.hpp"

namespace upsweep::query {

/// `table`: what messages call it. Throws Error unknown_column, unsupported_sql, bad_sql, unsupported_type, overflow; all
/// but the last show where.
QueryPlan bind(const std::string& sql, const Syntax& syntax, const std::string& table,
               const std::vector<Field>& fields);

/// The name after FROM, for a query without a path. Throws unsupported_sql where there is none, or more than one.
std::string table_name(const std::string& sql, const Syntax& syntax);
/// The byte at which the table stands.
int table_location(const std::string& sql, const Syntax& syntax);

}  // namespace upsweep::query
