// SPDX-License-Identifier: Apache-2.0
// aggregate/rung.hpp: what the files of the aggregate ladder's rungs declare their rows with.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/aggregate_call.hpp"

namespace upsweep::aggregate {

using Rung = upsweep::Rung<detail::AggregateCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

#if !UPSWEEP_HAS_CUDA
// What the rungs on a GPU name in a build without CUDA.
inline constexpr NotBuilt launch{};
inline constexpr NotBuilt workspace{};
#endif

/// The rung that the policy names, or the top one that fits the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::AggregateCall& call, const Policy& policy);

inline constexpr const char* kTouched = "keys, and lines of kept rows";
inline constexpr const char* kSectors = "keys, and sectors of kept rows";

inline const char* host_adds_refusal(const detail::AggregateCall& call, const Policy&) noexcept {
  return call.waits ? nullptr : "the host adds up what its kernel leaves: only calls that wait run it";
}

}  // namespace upsweep::aggregate
