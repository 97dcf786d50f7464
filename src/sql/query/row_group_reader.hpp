// SPDX-License-Identifier: Apache-2.0
// sql/query/row_group_reader.hpp: a row group of a table as a plan reads it: no column or batch more than it needs.
#pragma once

#include <memory>
#include <vector>

#include "sql/query/execute.hpp"
#include "sql/query/plan.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// The columns that a plan reads, by its own numbers for them.
std::vector<int> columns_read(const QueryPlan& plan);

/// The batches of a row group, without those of which it is known that no row is kept: nothing, or a batch without
/// rows, stands for one of them. Columns have the plan's numbers.
/// `plan` and `folding` outlive it. Throws as Table::open() does.
std::unique_ptr<BatchReader> open_row_group(const QueryPlan& plan, const Table& table, int row_group,
                                            const Folding& folding);

}  // namespace upsweep::query
