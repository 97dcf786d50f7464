// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/ladder.hpp: the rungs of the subset-sum ladder by name, calls of them, and the checks of every
// call.
#pragma once

#include <new>

#include "core/ladder.hpp"
#include "upsweep/detail/subset_sum_call.hpp"

namespace upsweep {

/// Returns the rung that the policy names; there must be a name. Throws unknown_rung, unsupported.
const Rung<detail::SubsetSumCall>& subset_sum_rung(const detail::SubsetSumCall& call, const Policy& policy);

namespace impl::subset_sum {

/// Returns whether the rung, when it decides, tells how two sides of the items make up the sum.
bool tells_sides(std::string_view rung);

/// Returns whether the rung can fill a bitmap; all rungs can decide.
bool fills(std::string_view rung);

/// Returns the rung that fills a bitmap if none is named: few items are enumerated.
std::string_view filling_rung(std::int64_t n, std::int64_t limit, bool on_device);

/// Returns f(); turns std::bad_alloc into Error out_of_memory.
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
/// Throws not_positive, or invalid_argument for a limit or a bitmap that cannot be filled.
void require_fill(const detail::SubsetSumCall& call);

/// Runs the rung that the policy names. Throws Error.
void run_on_cpu(const Policy& policy, detail::SubsetSumCall& call);

}  // namespace impl::subset_sum
}  // namespace upsweep
