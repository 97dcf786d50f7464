// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/rung.hpp: what the files of the rungs declare their rows with.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/filtered_sum_call.hpp"

namespace upsweep::impl::filtered_sum {

using Rung = upsweep::Rung<detail::FilteredSumCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// The rung that the policy names, or the top one that fits the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::FilteredSumCall& call, const Policy& policy);

/// The sum of what a rung has left in device memory, a megabyte at a time.
std::int64_t add_partials(const detail::FilteredSumCall& call, gpu::Stream stream);

inline constexpr const char* kTouched = "keys, and lines of kept rows";
inline constexpr const char* kSectors = "keys, and sectors of kept rows";

inline const char* host_adds_refusal(const detail::FilteredSumCall& call, const Policy&) noexcept {
  return call.waits ? nullptr : "the host adds up what its kernel leaves: only calls that wait run it";
}

/// The row of a rung whose kernel leaves partial sums, which the host adds up.
constexpr Rung host_adds_rung(std::string_view id, std::string_view idea, std::string_view cost, std::string_view limit,
                              decltype(Rung::run) run, decltype(Rung::workspace) workspace,
                              std::string_view traffic = kSectors) {
  return {.info = {.id = id,
                   .idea = idea,
                   .needs = "any GPU",
                   .traffic = traffic,
                   .cost = cost,
                   .limit = limit,
                   .host_adds = true},
          .refusal = host_adds_refusal,
          .run = run,
          .workspace = workspace};
}

}  // namespace upsweep::impl::filtered_sum
