// SPDX-License-Identifier: Apache-2.0
// sql/query/answer.hpp: from folded groups to the rows that are given out.
#pragma once

#include <cstdint>
#include <functional>

#include "sql/expression/kernels.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/totals.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// Computes the plan's outputs, orders them and keeps those within the limit. Throws Error overflow, division_by_zero,
/// and out_of_memory where there are more rows than memory holds. `threads` as policies have it.
Answer answer_of(const QueryPlan& plan, const Groups& groups, const Kernels& kernels, int threads);
/// The same; the totals have no groups afterwards. `most_bytes`: of memory, for groups and rows; 0: as the totals have it. `pause` is
/// called now and then, by one thread at a time. If it throws, this ends.
Answer answer_of(const QueryPlan& plan, Totals& totals, const Kernels& kernels, int threads, std::int64_t most_bytes,
                 const std::function<void()>& pause);

}  // namespace upsweep::query
