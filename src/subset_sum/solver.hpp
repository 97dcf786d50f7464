// SPDX-License-Identifier: Apache-2.0
// subset_sum/solver.hpp: how a reduced instance is solved, wherever its rungs run.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "subset_sum/plan.hpp"
#include "subset_sum/reductions.hpp"
#include "subset_sum/search.hpp"

namespace upsweep::subset_sum {

using WaysFor = std::function<std::vector<SubsetSumWay>(const Question&)>;

/// Where the rungs run, and what they cost there.
struct Solver {
  RunCall run;
  ChooseWay choose;  ///< for what is left after the first step
  WaysFor ways;      ///< for the first step
};

/// The answer: by the rung, or where none is named by what is likely, or else by the cheapest way.
SubsetSum solve(const Instance& instance, const SubsetSumOptions& options, std::string_view rung, const Solver& solver);

/// How solve() would go about it.
SubsetSumPlan plan_of(const Instance& instance, const SubsetSumOptions& options, std::string_view rung,
                      const WaysFor& ways);

}  // namespace upsweep::subset_sum
