// SPDX-License-Identifier: Apache-2.0
// sql/query/statistics.hpp: evaluates the conditions of a plan with a table's statistics.
#pragma once

#include <vector>

#include "sql/expression/expression.hpp"
#include "sql/query/plan.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// Returns whether some row of a row group may fulfill all conditions of a plan.
bool may_match(const QueryPlan& plan, const Table& table, int row_group);

/// Returns whether all rows of a row group fulfill a condition.
bool must_hold(const Expression& condition, const QueryPlan& plan, const Table& table, int row_group);

/// Returns for each batch of a row group whether it may have rows that fulfill all conditions. Returns nothing if
/// batches have no statistics.
std::vector<bool> matching_batches(const QueryPlan& plan, const Table& table, int row_group);

}  // namespace upsweep::query
