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
#include "subset_sum/solver.hpp"

namespace upsweep {

namespace {

using detail::SubsetSumCall;
using subset_sum::Instance;
using subset_sum::Question;
using subset_sum::Solver;

// What all attempts at a likely solution together may take: a tenth of the whole search, where there is one.
constexpr double kShareOfLikely = 0.1;
constexpr double kMostForLikely = 1;  // second
// Below that the whole search is done before an attempt is prepared.
constexpr double kLeastWhole = 1e-3;

Question question_of(const Instance& instance, bool witness) {
  return {instance.values, instance.target, instance.below, instance.above, witness};
}

/// The answer that follows from the reductions alone.
SubsetSum answer_of(const Instance& instance, const SubsetSumOptions& options) {
  SubsetSum answer{.rung = "none"};
  // Without values the sum is 0, which is in reach if it is not less than what will do.
  answer.reachable = !instance.impossible && instance.below >= instance.target;
  if (!answer.reachable) return answer;
  answer.sum = instance.sum_of(0);
  if (options.witness) answer.indices = instance.positions(std::vector<bool>(instance.values.size()));
  return answer;
}

/// Seconds that the cheapest way takes, or as if that were long where there is none.
double whole_seconds(const std::vector<SubsetSumWay>& ways) {
  return subset_sum::any_can(ways) ? subset_sum::choose(ways).seconds : kMostForLikely / kShareOfLikely;
}

bool tries_likely(const SubsetSumOptions& options, const std::vector<SubsetSumWay>& ways) {
  return options.reduce && options.early_stop && whole_seconds(ways) >= kLeastWhole;
}

/// The target itself, where it is likely that some of the values add up to it.
std::optional<SubsetSum> likely_answer(const Instance& instance, const SubsetSumOptions& options,
                                       const std::vector<SubsetSumWay>& ways, const Solver& solver) {
  subset_sum::Search search(solver.run, solver.choose, options.progress);
  std::vector<bool> chosen(instance.values.size());
  SubsetSum answer{.reachable = true, .sum = instance.sum_of(instance.target)};
  const double seconds = std::min(kShareOfLikely * whole_seconds(ways), kMostForLikely);
  if (!search.find_likely(instance.values, instance.target, seconds, options.witness, chosen, answer.rung)) return {};
  if (options.witness) answer.indices = instance.positions(chosen);
  return answer;
}

/// The answer by that rung first, by those that solver.choose names for what is then left.
SubsetSum answer_by(std::string_view rung, const Instance& instance, const SubsetSumOptions& options,
                    const Solver& solver) {
  subset_sum::Search search(solver.run, solver.choose, options.progress);
  std::vector<bool> chosen(instance.values.size());
  subset_sum::Checkpoints checkpoints{.wanted = checkpoints_for(question_of(instance, options.witness))};
  const SubsetSumCall decided =
      search.decide(instance, options.early_stop, rung, {0, options.witness ? 0.5 : 1}, checkpoints);
  if (!decided.reachable) return {.rung = rung};
  SubsetSum answer{.reachable = true, .sum = instance.sum_of(decided.sum), .rung = rung};
  if (!options.witness) return answer;
  search.find(instance.values, decided, {0.5, 1}, chosen);
  answer.indices = instance.positions(chosen);
  return answer;
}

}  // namespace

SubsetSum subset_sum::solve(const Instance& instance, const SubsetSumOptions& options, std::string_view rung,
                            const Solver& solver) {
  if (instance.is_decided()) return answer_of(instance, options);
  if (!rung.empty()) return answer_by(rung, instance, options, solver);
  const std::vector<SubsetSumWay> ways = solver.ways(question_of(instance, options.witness));
  if (tries_likely(options, ways)) {
    if (auto found = likely_answer(instance, options, ways, solver)) return *std::move(found);
  }
  return answer_by(choose(ways).rung, instance, options, solver);
}

SubsetSumPlan subset_sum::plan_of(const Instance& instance, const SubsetSumOptions& options, std::string_view rung,
                                  const WaysFor& ways) {
  SubsetSumPlan plan;
  plan.items = std::ssize(instance.values);
  plan.divisor = instance.divisor;
  plan.target = instance.target;
  plan.largest = instance.values.empty() ? 0 : instance.values.back();
  plan.complement = instance.complement;
  plan.steps = instance.steps;
  plan.rung = "none";
  if (instance.is_decided()) return plan;
  plan.ways = ways(question_of(instance, options.witness));
  plan.tries_likely = rung.empty() && tries_likely(options, plan.ways);
  plan.rung = rung.empty() && any_can(plan.ways) ? choose(plan.ways).rung : rung;
  return plan;
}

namespace {

/// The instance, once the policy is found to be one that can do it, also where nothing is left to do.
Instance instance_for(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                      const SubsetSumOptions& options) {
  require_policy(policy);
  Instance instance(items, n, target, options);
  if (!policy.rung.empty()) (void)subset_sum_rung(subset_sum::call_of(instance), policy);
  return instance;
}

SubsetSum solve_on_cpu(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                       const SubsetSumOptions& options) {
  const Instance instance = instance_for(policy, items, n, target, options);
  if (!policy.rung.empty() && !instance.is_decided()) {
    subset_sum::require_memory(subset_sum::way_of(policy.rung, question_of(instance, options.witness)));
  }
  const Solver solver{
      .run = [&](SubsetSumCall& call, std::string_view by) { subset_sum::run_on_cpu(policy.with_rung(by), call); },
      .choose =
          [](const std::vector<std::int64_t>& values, std::int64_t sum) {
            return subset_sum::choose(subset_sum::ways_for({.values = values, .target = sum, .witness = true}));
          },
      .ways = &subset_sum::ways_for,
  };
  return subset_sum::solve(instance, options, policy.rung, solver);
}

}  // namespace

SubsetSum detail::solve_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                                   const SubsetSumOptions& options) {
  return subset_sum::with_memory([&] { return solve_on_cpu(policy, items, n, target, options); });
}

SubsetSumPlan detail::plan_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                      std::int64_t target, const SubsetSumOptions& options) {
  return subset_sum::with_memory([&] {
    const Instance instance = instance_for(policy, items, n, target, options);
    SubsetSumPlan plan = subset_sum::plan_of(instance, options, policy.rung, &subset_sum::ways_for);
    const bool is_there = std::any_of(plan.ways.begin(), plan.ways.end(),
                                      [&](const SubsetSumWay& way) { return way.rung == policy.rung; });
    if (policy.rung.empty() || is_there || plan.ways.empty()) return plan;
    plan.ways.push_back(subset_sum::way_of(policy.rung, question_of(instance, options.witness)));
    return plan;
  });
}

}  // namespace upsweep
