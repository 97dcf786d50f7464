// SPDX-License-Identifier: Apache-2.0
// subset_sum/ladder.hpp: the rungs of the subset sum ladder by name.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/subset_sum_call.hpp"

namespace upsweep {

/// The rung that the policy names, which must be one. Throws unknown_rung, unsupported.
const Rung<detail::SubsetSumCall>& subset_sum_rung(const detail::SubsetSumCall& call, const Policy& policy);

namespace subset_sum {

/// Whether the rung, when it decides, says how the sum is made up from two parts of the items.
bool tells_parts(std::string_view rung);

/// Whether the rung can fill a bitmap; all can decide.
bool fills(std::string_view rung);

/// The rung that fills a bitmap where none is named: few items are enumerated.
std::string_view filling_rung(std::int64_t n, std::int64_t limit, bool on_device);

}  // namespace subset_sum
}  // namespace upsweep
