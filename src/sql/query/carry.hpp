// SPDX-License-Identifier: Apache-2.0
// sql/query/carry.hpp: a query's carry as bytes, which other processes and machines merge.
#pragma once

#include <string>
#include <string_view>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// The query's text and the types it was given, how many groups, then these in their order as encoded batches (sql/query/group_coder.hpp).
/// Little-endian.
std::string to_bytes(const QueryPlan& plan, const Groups& groups);

/// Merges the groups of to_bytes(). Where `into` had none, it is checked that no group comes twice. Throws Error malformed where the
/// bytes are not from to_bytes(), and invalid_argument where they are of another query. After malformed, some may have been merged; and what merge() throws.
void merge_bytes(const QueryPlan& plan, std::string_view bytes, Groups& into);

/// Throws Error invalid_argument unless carries of both can be merged.
void require_same_query(const QueryPlan& a, const QueryPlan& b);

}  // namespace upsweep::query
