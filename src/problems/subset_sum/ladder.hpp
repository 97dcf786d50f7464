// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/ladder.hpp: the rungs of the subset sum ladder by name, calls of them, and what every call checks first.
#pragma once

#include <new>

#include "core/ladder.hpp"
#include "upsweep/detail/subset_sum_call.hpp"

namespace upsweep {

/// The rung that the policy names, which must be one. Throws unknown_rung, unsupported.
const Rung<detail::SubsetSumCall>& subset_sum_rung(const detail::SubsetSumCall& call, const Policy& policy);

namespace impl::subset_sum {

/// Whether the rung, when it decides, says how the sum is made up from two sides of the items.
bool tells_sides(std::string_view rung);

/// Whether the rung can fill a bitmap; all can decide.
bool fills(std::string_view rung);

/// The rung that fills a bitmap where none is named: few items are enumerated.
std::string_view filling_rung(std::int64_t n, std::int64_t limit, bool on_device);

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

}  // namespace impl::subset_sum
}  // namespace upsweep
