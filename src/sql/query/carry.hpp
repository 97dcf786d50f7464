// SPDX-License-Identifier: Apache-2.0
// sql/query/carry.hpp: a query's carry as bytes, which other processes and machines can merge.
#pragma once

#include <string>
#include <string_view>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Returns the query's text and types, the number of groups, then the groups in order as encoded batches
/// (sql/query/group_coder.hpp). The bytes are little-endian.
std::string to_bytes(const QueryPlan& plan, const Groups& groups);

/// Merges the groups of to_bytes(). If `into` had no groups, checks that no group occurs twice. Throws Error malformed
/// if the bytes are not from to_bytes(), and invalid_argument if they belong to another query. After malformed, some
/// groups may have been merged. Also throws the errors of merge().
void merge_bytes(const QueryPlan& plan, std::string_view bytes, Groups& into);

/// Throws Error invalid_argument unless carries of both can be merged.
void require_same_query(const QueryPlan& a, const QueryPlan& b);

}  // namespace upsweep::query
