// SPDX-License-Identifier: Apache-2.0
// sql/query/group_fold.cpp: the steps of a block: find groups, decide whether to continue that way, fold the values.
#include "sql/query/group_fold.hpp"

#include "sql/query/group_merge.hpp"

namespace upsweep::query {

GroupFold::GroupFold(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_cached)
    : plan_(plan),
      kernels_(kernels),
      most_cached_(most_cached),
      finder_(std::in_place, plan, kernels),
      aggregates_(plan, kernels),
      writer_(plan),
      group_(kBlock, 0) {}

void GroupFold::start() {
  if (is_started_) {  // an error ended the previous groups, which no longer exist
    finder_.emplace(plan_, kernels_);
    aggregates_.forget();
  }
  is_started_ = true;
}

void GroupFold::start_batch(Groups& groups, std::int64_t rows) {
  if (groups.unaggregated().count() > 0) merge_unaggregated(groups);  // they precede this batch's groups
  writer_.start_batch(rows, groups.count());
}

void GroupFold::add(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks) {
  const int n = evaluator.count();
  if (n == 0) return;
  if (marks != nullptr) {
    for (const Aggregate& aggregate : plan_.aggregates) {
      if (aggregate.input) (void)evaluator.value(aggregate.input);
    }
  }
  if (writer_.writes()) {
    if (writer_.write(groups, evaluator, marks)) return;
    merge_unaggregated(groups);
  }
  finder_->find(groups, evaluator, marks, group_.data());
  writer_.note(groups, marks, n, *finder_, most_cached_);
  aggregates_.add(evaluator, {.groups = groups, .group = group_.data(), .rows = n, .are_all = marks == nullptr});
}

void GroupFold::finish(Groups& groups) {
  aggregates_.settle(groups);
  finder_->forget(groups);
  is_started_ = false;
}

/// Groups are in the order of their first rows. The unaggregated rows follow those that were found.
void GroupFold::merge_unaggregated(Groups& groups) {
  aggregates_.settle(groups);
  merge(groups, groups.unaggregated());
  groups.unaggregated().clear();
}

}  // namespace upsweep::query
