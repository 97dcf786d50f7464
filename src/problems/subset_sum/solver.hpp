// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/solver.hpp: how an instance is solved, wherever its rungs run.
#pragma once

#include "problems/subset_sum/search.hpp"

namespace upsweep::impl::subset_sum {

/// Solves an instance: with the requested rung, or otherwise by a likely solution, or otherwise by the cheapest way.
SubsetSum solve(const Solver& solver, const std::int64_t* items, std::int64_t n, std::int64_t target,
                const SubsetSumOptions& options);

/// Returns how solve() would solve the instance.
SubsetSumPlan plan_of(const Solver& solver, const std::int64_t* items, std::int64_t n, std::int64_t target,
                      const SubsetSumOptions& options);

}  // namespace upsweep::impl::subset_sum
