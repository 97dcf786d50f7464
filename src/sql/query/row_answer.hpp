// SPDX-License-Identifier: Apache-2.0
// sql/query/row_answer.hpp: the answer of a query of rows: in the table's order, or by ORDER BY.
#pragma once

#include <cstdint>

#include "sql/query/plan.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/query.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// Returns the answer of a plan of rows. With a sink, the rows are given to it instead, chunk by chunk. `most_bytes`:
/// memory for rows; 0: three quarters of the free memory. Throws as Query::run() does.
Answer answer_of_rows(const QueryPlan& plan, const Table& table, const Policy& policy, const QueryProgress& progress,
                      std::int64_t most_bytes, const AnswerSink& sink);

}  // namespace upsweep::query
