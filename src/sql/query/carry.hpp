// SPDX-License-Identifier: Apache-2.0
// sql/query/carry.hpp: a query's carry as bytes, which other processes and machines merge.
#pragma once

#include <string>
#include <string_view>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// The query's text and the types it was given, how many groups, then these in their order as packets (sql/query/packet.hpp).
/// Little-endian.
std::string to_bytes(const Plan& plan, const Groups& groups);

/// Merges the groups of to_bytes(); that none comes twice is seen where there have been none. Throws Error malformed where the bytes are none of it, invalid_argument where they are of
/// another query: but for that, some may have been merged; and what merge() throws.
void merge_bytes(const Plan& plan, std::string_view bytes, Groups& into);

/// Throws Error invalid_argument unless carries of both can be merged.
void require_same_query(const Plan& a, const Plan& b);

}  // namespace upsweep::query
