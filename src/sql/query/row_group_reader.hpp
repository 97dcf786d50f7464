// SPDX-License-Identifier: Apache-2.0
// sql/query/row_group_reader.hpp: reads a row group of a table for a plan, without unneeded columns and batches.
#pragma once

#include <memory>
#include <vector>

#include "sql/expression/kernels.hpp"
#include "sql/query/plan.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// How row groups are read.
struct Reading {
  const Kernels& kernels;
  bool may_drop_conditions;  ///< the plan of a row group omits conditions that its statistics prove
  bool may_repeat_texts;     ///< the dictionary of a batch may repeat strings
};

/// Returns the columns that a plan reads, with the plan's numbers.
std::vector<int> columns_read(const QueryPlan& plan);

/// Returns the batches of a row group, without those in which no row is kept. These are omitted, or replaced by a batch
/// without rows. Columns have the plan's numbers. `plan` and `reading` must outlive the reader. Throws the errors of
/// Table::open().
std::unique_ptr<BatchReader> open_row_group(const QueryPlan& plan, const Table& table, int row_group,
                                            const Reading& reading);

}  // namespace upsweep::query
