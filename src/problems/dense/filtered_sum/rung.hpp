// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/rung.hpp: what the rungs' files need to declare their rows of the ladder.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/filtered_sum_call.hpp"

namespace upsweep::impl::filtered_sum {

using Rung = upsweep::Rung<detail::FilteredSumCall>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// Returns the rung that the policy names, or the top rung that fits the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::FilteredSumCall& call, const Policy& policy);

/// Returns the sum of the partial sums that a rung has left in device memory; fetches a megabyte at a time.
std::int64_t add_partials(const detail::FilteredSumCall& call, gpu::Stream stream);

inline constexpr const char* kTouched = "keys, and lines of kept rows";
inline constexpr const char* kSectors = "keys, and sectors of kept rows";

inline const char* host_adds_refusal(const detail::FilteredSumCall& call, const Policy&) noexcept {
  return call.waits ? nullptr : "the host adds up its partial sums: only calls that wait can run it";
}

/// Returns the row of a rung whose kernel leaves partial sums, which the host adds up.
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
