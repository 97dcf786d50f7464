// SPDX-License-Identifier: Apache-2.0
// sql/query/row_sort.hpp: sorts rows of an answer by the terms of ORDER BY.
//
// Rows are in chunks without places, in the order of the table. Equal rows keep this order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sql/query/answer_columns.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Bytes of memory that sorting takes per row, in addition to 8 bytes.
inline constexpr std::int64_t kSortBytes = 16;

/// Returns all rows in the order of the plan.
detail::Unwritten<Source> sorted_rows(const QueryPlan& plan, std::span<const AnswerChunk> chunks, int threads);

/// Returns the rows that are the first ones in the order of the plan, up to its limit, but in the order of the table.
std::vector<Source> first_rows(const QueryPlan& plan, std::span<const AnswerChunk> chunks);

}  // namespace upsweep::query
