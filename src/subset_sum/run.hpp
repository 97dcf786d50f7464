// SPDX-License-Identifier: Apache-2.0
// subset_sum/run.hpp: what every call checks first, and a call of a rung whose failure becomes an Error.
#pragma once

#include <new>

#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::subset_sum {

/// f(), with std::bad_alloc as Error out_of_memory.
template <class F>
auto with_memory(F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw Error(Code::out_of_memory, "no memory left for a subset sum");
  }
}

/// Throws not_positive for the first item below 1.
void require_positive(const std::int64_t* items, std::int64_t n);
/// Throws not_positive, and invalid_argument for a limit or a bitmap that cannot be filled.
void require_fill(const detail::SubsetSumCall& call);

/// By the rung that the policy names. Throws Error.
void run_on_cpu(const Policy& policy, detail::SubsetSumCall& call);

}  // namespace upsweep::subset_sum
