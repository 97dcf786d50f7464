// SPDX-License-Identifier: Apache-2.0
// sql/query/statistics.hpp: what a table's statistics say about the conditions of a plan.
#pragma once

#include <vector>

#include "sql/expression/expression.hpp"
#include "sql/query/plan.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// Whether some row of a row group may fulfil all conditions of a plan.
bool may_match(const QueryPlan& plan, const Table& table, int row_group);

/// Whether all rows of a row group fulfil one of them.
bool must_hold(const Expression& condition, const QueryPlan& plan, const Table& table, int row_group);

/// Whether each batch of a row group may have rows that fulfil all of them; empty where nothing is known of batches.
std::vector<bool> matching_batches(const QueryPlan& plan, const Table& table, int row_group);

}  // namespace upsweep::query
