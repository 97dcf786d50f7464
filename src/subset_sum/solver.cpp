// SPDX-License-Identifier: Apache-2.0
// subset_sum/solver.cpp: an instance reduced, a way chosen, the search, and its answer in the items' own terms.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "subset_sum/ladder.hpp"
#include "subset_sum/plan.hpp"
#include "subset_sum/reductions.hpp"
#include "subset_sum/run.hpp"
#include "subset_sum/solver.hpp"

namespace upsweep {

SubsetSum subset_sum::search(const Instance& instance, std::string_view rung, const SubsetSumOptions& options,
                             const RunCall& run, const ChooseWay& choose) {
  SubsetSum answer{.rung = rung};
  Search search(run, choose, options.progress);
  std::vector<bool> chosen(instance.values.size());
  const detail::SubsetSumCall decided =
      search.decide(instance, options.early_stop, rung, {0, options.witness ? 0.5 : 1});
  answer.reachable = decided.reachable;
  answer.sum = decided.sum;
  if (decided.reachable && options.witness) search.find(instance.values, decided, {0.5, 1}, chosen);
  if (!answer.reachable) return {.rung = rung};
  answer.sum = instance.sum_of(answer.sum);
  if (options.witness) answer.indices = instance.positions(chosen);
  return answer;
}

SubsetSum subset_sum::answer_of(const Instance& instance, const SubsetSumOptions& options) {
  SubsetSum answer{.rung = "none"};
  // Without values the sum is 0, which is in reach if it is not less than what will do.
  answer.reachable = !instance.impossible && instance.below >= instance.target;
  if (!answer.reachable) return answer;
  answer.sum = instance.sum_of(0);
  if (options.witness) answer.indices = instance.positions(std::vector<bool>(instance.values.size()));
  return answer;
}

namespace {

using detail::SubsetSumCall;
using subset_sum::Instance;
using subset_sum::Question;

Question question_of(const Instance& instance, bool witness) {
  return {instance.values, instance.target, instance.below, instance.above, witness};
}

// What each attempt at a likely solution may take: a tenth of the whole search, where there is one.
constexpr double kShareOfLikely = 0.1;
constexpr double kMostForLikely = 1;  // second
// Below that the whole search is done before an attempt is prepared.
constexpr double kLeastWhole = 1e-3;

/// Throws unknown_rung and unsupported for a rung that is named and cannot do it, also where nothing is left to do.
void require_rung(const Policy& policy, const Instance& instance, const gpu::Launch* launch) {
  if (policy.rung.empty()) return;
  SubsetSumCall call;
  call.n = std::ssize(instance.values);
  call.target = instance.target;
  call.below = instance.below;
  call.above = instance.above;
  call.launch = launch;
  (void)subset_sum_rung(call, policy);
}

/// The target itself, where it is likely that some of the values add up to it.
std::optional<SubsetSum> likely_answer(const Instance& instance, const Question& question,
                                       const SubsetSumOptions& options, const subset_sum::RunCall& run,
                                       const subset_sum::ChooseWay& choose) {
  const auto ways = subset_sum::ways_for(question);
  const double whole = subset_sum::any_can(ways) ? subset_sum::choose(ways).seconds : kMostForLikely / kShareOfLikely;
  if (whole < kLeastWhole) return {};
  subset_sum::Search search(run, choose, options.progress);
  std::vector<bool> chosen(instance.values.size());
  SubsetSum answer{.reachable = true, .sum = instance.sum_of(instance.target)};
  const double seconds = std::min(kShareOfLikely * whole, kMostForLikely);
  if (!search.find_likely(instance.values, instance.target, seconds, options.witness, chosen, answer.rung)) return {};
  if (options.witness) answer.indices = instance.positions(chosen);
  return answer;
}

std::string_view rung_for(const Policy& policy, const Question& question) {
  if (policy.rung.empty()) return subset_sum::choose(subset_sum::ways_for(question)).rung;
  subset_sum::require_memory(subset_sum::way_of(policy.rung, question));
  return policy.rung;
}

SubsetSum solve(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                const SubsetSumOptions& options) {
  require_policy(policy);
  const Instance instance(items, n, target, options);
  require_rung(policy, instance, nullptr);
  if (instance.is_decided()) return subset_sum::answer_of(instance, options);
  const auto run = [&](SubsetSumCall& call, std::string_view by) {
    subset_sum::run_on_cpu(policy.with_rung(by), call);
  };
  const auto choose = [&](const std::vector<std::int64_t>& values, std::int64_t sum) {
    return subset_sum::choose(subset_sum::ways_for({.values = values, .target = sum, .witness = true}));
  };
  const Question question = question_of(instance, options.witness);
  if (policy.rung.empty() && options.reduce && options.early_stop) {
    const auto found = likely_answer(instance, question, options, run, choose);
    if (found) return *found;
  }
  return subset_sum::search(instance, rung_for(policy, question), options, run, choose);
}

SubsetSumPlan make_plan(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                        const SubsetSumOptions& options) {
  require_policy(policy);
  const Instance instance(items, n, target, options);
  require_rung(policy, instance, nullptr);
  SubsetSumPlan plan;
  plan.items = std::ssize(instance.values);
  plan.divisor = instance.divisor;
  plan.target = instance.target;
  plan.largest = instance.values.empty() ? 0 : instance.values.back();
  plan.complement = instance.complement;
  plan.steps = instance.steps;
  plan.rung = "none";
  if (instance.is_decided()) return plan;
  const Question question = question_of(instance, options.witness);
  plan.ways = subset_sum::ways_for(question);
  plan.rung = policy.rung;
  if (policy.rung.empty() && subset_sum::any_can(plan.ways)) plan.rung = subset_sum::choose(plan.ways).rung;
  return plan;
}

}  // namespace

SubsetSum detail::solve_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                                   const SubsetSumOptions& options) {
  return subset_sum::with_memory([&] { return solve(policy, items, n, target, options); });
}

SubsetSumPlan detail::plan_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                      std::int64_t target, const SubsetSumOptions& options) {
  return subset_sum::with_memory([&] { return make_plan(policy, items, n, target, options); });
}

}  // namespace upsweep
