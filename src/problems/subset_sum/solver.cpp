// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/solver.cpp: reduces an instance, chooses a way, searches, and converts the answer to the items.
#include "problems/subset_sum/solver.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "problems/subset_sum/ladder.hpp"

namespace upsweep {
namespace {

using detail::SubsetSumCall;
using impl::subset_sum::Instance;
using impl::subset_sum::Question;
using impl::subset_sum::Solver;

// Maximum share of the time of the whole search that all attempts at a likely solution may take: a tenth.
constexpr double kShareOfLikely = 0.1;
constexpr double kMostForLikely = 1;  // second
// Below this time, the whole search ends before an attempt is prepared.
constexpr double kLeastWhole = 1e-3;

// The rung of a search by several processes, if a single process would use lists of sums.
constexpr std::string_view kSharedRung = "cpu.schroeppel_shamir";
bool is_list_of_sums(std::string_view rung) { return rung == kSharedRung || rung == "cpu.meet_in_the_middle"; }

Question question_of(const Instance& instance, bool witness) {
  return {instance.values, instance.target, instance.below, instance.above, witness};
}

/// Returns the instance. Checks first that the requested rung supports it, even if nothing is left to search.
Instance instance_for(const Solver& solver, const std::int64_t* items, std::int64_t n, std::int64_t target,
                      const SubsetSumOptions& options) {
  Instance instance(items, n, target, options);
  if (!solver.rung.empty()) solver.require(impl::subset_sum::call_of(instance));
  return instance;
}

/// Returns the answer that follows from only the reductions.
SubsetSum answer_of(const Instance& instance, const SubsetSumOptions& options) {
  SubsetSum answer{.rung = "none"};
  // Without values the sum is 0. It is accepted if the lowest accepted sum is 0.
  answer.reachable = !instance.impossible && instance.below >= instance.target;
  if (!answer.reachable) return answer;
  answer.sum = instance.sum_of(0);
  if (options.witness) answer.indices = instance.positions(std::vector<bool>(instance.values.size()));
  return answer;
}

/// Returns the seconds of the cheapest way, or a long time if no way can run.
double whole_seconds(const std::vector<SubsetSumWay>& ways) {
  return impl::subset_sum::any_can(ways) ? impl::subset_sum::choose(ways).seconds : kMostForLikely / kShareOfLikely;
}

bool tries_likely(const SubsetSumOptions& options, const std::vector<SubsetSumWay>& ways) {
  return options.reduce && options.early_stop && whole_seconds(ways) >= kLeastWhole;
}

/// Returns the exact target as answer, if it is likely that some of the values add up to it, and the attempt succeeds.
std::optional<SubsetSum> likely_answer(const Instance& instance, const SubsetSumOptions& options,
                                       const std::vector<SubsetSumWay>& ways, const Solver& solver) {
  const impl::subset_sum::Search search{solver, options.progress};
  std::vector<bool> chosen(instance.values.size());
  SubsetSum answer{.reachable = true, .sum = instance.sum_of(instance.target)};
  const double seconds = std::min(kShareOfLikely * whole_seconds(ways), kMostForLikely);
  if (!find_likely(search, instance.values, instance.target, seconds, options.witness, chosen, answer.rung)) return {};
  if (options.witness) answer.indices = instance.positions(chosen);
  return answer;
}

/// Returns the answer of the rung; the rest of the search uses the cheapest of solver.ways_left.
SubsetSum answer_by(std::string_view rung, const Instance& instance, const SubsetSumOptions& options,
                    const Solver& solver) {
  const impl::subset_sum::Search search{solver, options.progress};
  std::vector<bool> chosen(instance.values.size());
  impl::subset_sum::Checkpoints checkpoints{.wanted = checkpoints_for(question_of(instance, options.witness))};
  const SubsetSumCall decided =
      decide(search, instance, options.early_stop, rung, {0, options.witness ? 0.5 : 1}, checkpoints);
  if (!decided.reachable) return {.rung = rung};
  SubsetSum answer{.reachable = true, .sum = instance.sum_of(decided.sum), .rung = rung};
  if (!options.witness) return answer;
  find(search, instance.values, decided, {0.5, 1}, chosen);
  answer.indices = instance.positions(chosen);
  return answer;
}

/// The result of the steps before the whole search: its answer, or the rung for the search.
struct Begun {
  std::optional<SubsetSum> answer = {};
  std::string_view rung = {};
};

Begun begin(const Solver& solver, const Instance& instance, const SubsetSumOptions& options) {
  if (instance.is_decided()) return {.answer = answer_of(instance, options)};
  const Question question = question_of(instance, options.witness);
  if (!solver.rung.empty()) {
    if (solver.cost) impl::subset_sum::require_memory(solver.cost(question));
    return {.rung = solver.rung};
  }
  const std::vector<SubsetSumWay> ways = solver.ways(question);
  if (tries_likely(options, ways)) {
    if (auto found = likely_answer(instance, options, ways, solver)) return {.answer = std::move(found)};
  }
  return {.rung = impl::subset_sum::choose(ways).rung};
}

SubsetSum solve_instance(const Solver& solver, const Instance& instance, const SubsetSumOptions& options) {
  Begun begun = begin(solver, instance, options);
  return begun.answer ? *std::move(begun.answer) : answer_by(begun.rung, instance, options, solver);
}

SubsetSumPlan plan_instance(const Solver& solver, const Instance& instance, const SubsetSumOptions& options) {
  SubsetSumPlan plan{.items = std::ssize(instance.values),
                     .divisor = instance.divisor,
                     .target = instance.target,
                     .largest = instance.values.empty() ? 0 : instance.values.back(),
                     .complement = instance.complement,
                     .rung = "none",
                     .steps = instance.steps};
  if (instance.is_decided()) return plan;
  const Question question = question_of(instance, options.witness);
  plan.ways = solver.ways(question);
  plan.tries_likely = solver.rung.empty() && tries_likely(options, plan.ways);
  plan.rung = solver.rung.empty() && impl::subset_sum::any_can(plan.ways) ? impl::subset_sum::choose(plan.ways).rung
                                                                          : solver.rung;
  const bool is_there =
      std::any_of(plan.ways.begin(), plan.ways.end(), [&](const SubsetSumWay& way) { return way.rung == solver.rung; });
  if (!solver.rung.empty() && !is_there && solver.cost) plan.ways.push_back(solver.cost(question));
  return plan;
}

Solver solver_on(const Policy& policy) {
  require_policy(policy);
  return {.rung = policy.rung,
          .require = [=](const SubsetSumCall& call) { (void)subset_sum_rung(call, policy); },
          .run = [=](SubsetSumCall& call,
                     std::string_view by) { impl::subset_sum::run_on_cpu(policy.with_rung(by), call); },
          .ways = &impl::subset_sum::ways_for,
          .ways_left = &impl::subset_sum::ways_for,
          .cost = [=](const Question& question) { return impl::subset_sum::way_of(policy.rung, question); }};
}

}  // namespace

SubsetSum impl::subset_sum::solve(const Solver& solver, const std::int64_t* items, std::int64_t n, std::int64_t target,
                                  const SubsetSumOptions& options) {
  return with_memory([&] { return solve_instance(solver, instance_for(solver, items, n, target, options), options); });
}

SubsetSumPlan impl::subset_sum::plan_of(const Solver& solver, const std::int64_t* items, std::int64_t n,
                                        std::int64_t target, const SubsetSumOptions& options) {
  return with_memory([&] { return plan_instance(solver, instance_for(solver, items, n, target, options), options); });
}

SubsetSum detail::solve_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                                   const SubsetSumOptions& options) {
  return impl::subset_sum::solve(solver_on(policy), items, n, target, options);
}

std::optional<SubsetSum> detail::begin_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                                  std::int64_t target, const SubsetSumOptions& options) {
  const Solver solver = solver_on(policy);
  return impl::subset_sum::with_memory([&]() -> std::optional<SubsetSum> {
    const Instance instance = instance_for(solver, items, n, target, options);
    Begun begun = begin(solver, instance, options);
    if (begun.answer) return std::move(begun.answer);
    if (instance.exact() && is_list_of_sums(begun.rung)) return {};
    return answer_by(begun.rung, instance, options, solver);
  });
}

SubsetSum detail::share_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                                   const SubsetSumOptions& options, const SharedSearch& shared) {
  const Solver solver = solver_on(policy.with_rung({}));
  const impl::subset_sum::Search search{solver, options.progress};
  return impl::subset_sum::with_memory([&] {
    const Instance instance(items, n, target, options);
    impl::subset_sum::Checkpoints none{.wanted = 0};
    const SubsetSumCall decided =
        decide(search, instance, options.early_stop, kSharedRung, {0, options.witness ? 0.5 : 1}, none, &shared);
    if (!decided.reachable) return SubsetSum{.rung = kSharedRung};
    SubsetSum answer{.reachable = true, .sum = instance.sum_of(decided.sum), .rung = kSharedRung};
    if (!options.witness || shared.process != 0) return answer;
    std::vector<bool> chosen(instance.values.size());
    find(search, instance.values, decided, {0.5, 1}, chosen);
    answer.indices = instance.positions(chosen);
    return answer;
  });
}

SubsetSumPlan detail::plan_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                      std::int64_t target, const SubsetSumOptions& options) {
  return impl::subset_sum::plan_of(solver_on(policy), items, n, target, options);
}

}  // namespace upsweep
