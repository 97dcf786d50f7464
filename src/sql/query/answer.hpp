// SPDX-License-Identifier: Apache-2.0
// sql/query/answer.hpp: computes the rows of an answer from folded groups.
#pragma once

#include <cstdint>
#include <functional>

#include "sql/expression/kernels.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/totals.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// Computes the plan's outputs, sorts them and keeps those within the limit. Throws Error overflow, division_by_zero,
/// and out_of_memory if the rows do not fit in memory. `threads` as in policies.
Answer answer_of(const QueryPlan& plan, const Groups& groups, const Kernels& kernels, int threads);
/// Like the function above. The totals have no groups afterwards. `most_bytes`: memory for groups and rows; 0: the
/// limit of the totals. `pause` is called now and then, by one thread at a time. If it throws, the computation ends.
Answer answer_of(const QueryPlan& plan, Totals& totals, const Kernels& kernels, int threads, std::int64_t most_bytes,
                 const std::function<void()>& pause);

}  // namespace upsweep::query
