// SPDX-License-Identifier: Apache-2.0
// subset_sum/api.cpp: bitmaps of reachable sums: validates, runs a rung, turns a failure into an Error.
#include <string>

#include "core/ladder.hpp"
#include "subset_sum/ladder.hpp"
#include "subset_sum/plan.hpp"
#include "subset_sum/run.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep {

using detail::SubsetSumCall;

void subset_sum::require_fill(const SubsetSumCall& call) {
  if (call.target < 0) {
    throw Error(Code::invalid_argument, "the limit must be at least 0, not " + std::to_string(call.target));
  }
  detail::require_array(call.sums, 1, "sums");
  require_positive(call.items, call.n);
}

void subset_sum::require_positive(const std::int64_t* items, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (items[i] > 0) continue;
    throw Error(Code::not_positive,
                "item " + std::to_string(i) + " is " + std::to_string(items[i]) + ": every item must be at least 1", i);
  }
}

void subset_sum::run_on_cpu(const Policy& policy, SubsetSumCall& call) {
  const auto& rung = subset_sum_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.code == Code::interrupted) throw Error(Code::interrupted, "the search was interrupted");
  if (!status.ok()) throw_status(status, rung.info.id);
}

std::string_view detail::run_reachable_sums(const Policy& policy, SubsetSumCall& call) {
  require_policy(policy);
  subset_sum::require_fill(call);
  const std::string_view id = policy.rung.empty() ? subset_sum::filling_rung(call.n, call.target, false) : policy.rung;
  const auto& rung = subset_sum_rung(call, policy.with_rung(id));
  subset_sum::require_memory({.rung = id, .bytes = subset_sum::table_bytes(id, call.n, call.target)});
  subset_sum::run_on_cpu(policy.with_rung(id), call);
  return rung.info.id;
}

}  // namespace upsweep
