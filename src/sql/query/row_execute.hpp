// SPDX-License-Identifier: Apache-2.0
// sql/query/row_execute.hpp: computes the kept rows of a table on every core, and hands them out in the table's order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sql/expression/kernels.hpp"
#include "sql/query/answer_columns.hpp"
#include "sql/query/plan.hpp"
#include "upsweep/query.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// How the rows of a table are computed.
struct RowReading {
  const Kernels& kernels;
  int workers;
  std::int64_t most_waiting;  ///< bytes of rows that may wait for earlier ones; a thread then only computes the latter
  /// Takes kept rows, at least one at a time, without places. Returns whether more rows are needed. It is called by one
  /// thread at a time.
  std::function<bool(AnswerChunk&&)> use;
  /// Returns a row that all needed rows precede in the order of the plan, or null. Any thread calls it.
  std::function<std::shared_ptr<const AnswerChunk>()> last;
};

/// Returns the number of rows that were read. Throws the errors of Table, of `use` and of `progress`. Throws Error
/// overflow, division_by_zero and not_positive for the first row that fails, unless `use` has ended the reading before
/// that row.
std::int64_t execute_rows(const QueryPlan& plan, const Table& table, const RowReading& reading,
                          const QueryProgress& progress);

}  // namespace upsweep::query
