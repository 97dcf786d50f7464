// SPDX-License-Identifier: Apache-2.0
// subset_sum/run.hpp: what every call checks first, and a call of a rung whose failure becomes an Error.
#pragma once

#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::subset_sum {

/// Throws not_positive for the first item below 1.
void require_positive(const std::int64_t* items, std::int64_t n);
/// Throws not_positive, and invalid_argument for a limit or a bitmap that cannot be filled.
void require_fill(const detail::SubsetSumCall& call);

/// By the rung that the policy names. Throws Error.
void run_on_cpu(const Policy& policy, detail::SubsetSumCall& call);

}  // namespace upsweep::subset_sum
