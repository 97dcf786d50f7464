// SPDX-License-Identifier: Apache-2.0
// subset_sum/solver.cpp: an instance reduced, a way chosen, the search, and its answer in the items' own terms.
#include <algorithm>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "subset_sum/ladder.hpp"
#include "subset_sum/plan.hpp"
#include "subset_sum/reductions.hpp"
#include "subset_sum/run.hpp"
#include "subset_sum/solver.hpp"

namespace upsweep {

// What may be spent on each attempt to find one of many solutions: where there are few, all of them together cost a fifth.
constexpr double kShareAround = 0.1;

SubsetSum subset_sum::search(const Instance& instance, std::string_view rung, const SubsetSumOptions& options,
                             const RunCall& run, const ChooseRung& choose) {
  SubsetSum answer{.rung = rung};
  Search search(run, choose, options.progress);
  std::vector<bool> chosen(instance.values.size());
  const bool is_bitmap = !tells_parts(rung);
  if (instance.exact() && options.early_stop && options.reduce && is_bitmap &&
      search.find_around(instance.values, instance.target, rung, kShareAround, options.witness, chosen)) {
    answer.reachable = true;
    answer.sum = instance.target;
  } else {
    const detail::SubsetSumCall decided =
        search.decide(instance.values, instance.target, instance.below, instance.above, options.early_stop, rung,
                      {0, options.witness ? 0.5 : 1});
    answer.reachable = decided.reachable;
    answer.sum = decided.sum;
    if (decided.reachable && options.witness) search.find(instance.values, decided, {0.5, 1}, chosen);
  }
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

Question question_of(const Instance& instance, bool witness, int threads) {
  return {instance.values, instance.target, instance.below, instance.above, witness, threads};
}

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

std::string_view rung_for(const Policy& policy, const Question& question) {
  if (policy.rung.empty()) return subset_sum::choose(subset_sum::ways_for(question));
  subset_sum::require_memory(subset_sum::way_of(policy.rung, question));
  return policy.rung;
}

}  // namespace

SubsetSum detail::solve_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                                   const SubsetSumOptions& options) {
  require_policy(policy);
  const Instance instance(items, n, target, options);
  require_rung(policy, instance, nullptr);
  if (instance.is_decided()) return subset_sum::answer_of(instance, options);
  const std::string_view rung = rung_for(policy, question_of(instance, options.witness, policy.threads));
  const auto run = [&](SubsetSumCall& call, std::string_view by) {
    subset_sum::run_on_cpu(policy.with_rung(by), call);
  };
  const auto choose = [&](const std::vector<std::int64_t>& values, std::int64_t sum) {
    return subset_sum::choose(
        subset_sum::ways_for({.values = values, .target = sum, .witness = true, .threads = policy.threads}));
  };
  return subset_sum::search(instance, rung, options, run, choose);
}

SubsetSumPlan detail::plan_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                      std::int64_t target, const SubsetSumOptions& options) {
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
  const Question question = question_of(instance, options.witness, policy.threads);
  plan.ways = subset_sum::ways_for(question);
  plan.rung = policy.rung;
  if (policy.rung.empty() && subset_sum::any_can(plan.ways)) plan.rung = subset_sum::choose(plan.ways);
  return plan;
}

}  // namespace upsweep
