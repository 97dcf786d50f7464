// SPDX-License-Identifier: Apache-2.0
// subset_sum/solver.hpp: the search of a reduced instance, wherever its rungs run.
#pragma once

#include <string_view>

#include "subset_sum/reductions.hpp"
#include "subset_sum/search.hpp"

namespace upsweep::subset_sum {

/// The answer for an instance that is not decided: by that rung first, by those that `choose` names for what is then left.
SubsetSum search(const Instance& instance, std::string_view rung, const SubsetSumOptions& options, const RunCall& run,
                 const ChooseWay& choose);

/// The answer that follows from the reductions alone, of an instance that is decided.
SubsetSum answer_of(const Instance& instance, const SubsetSumOptions& options);

}  // namespace upsweep::subset_sum
