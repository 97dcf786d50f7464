// SPDX-License-Identifier: Apache-2.0
// query/answer.hpp: from folded groups to the rows that are given out.
#pragma once

#include "query/groups.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// Computes the plan's outputs, orders them and cuts them off at the limit. Throws Error overflow, division_by_zero.
/// `threads` as policies have it.
Answer answer_of(const Plan& plan, const Groups& groups, const Kernels& kernels, int threads);

}  // namespace upsweep::query
