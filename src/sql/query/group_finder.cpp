// SPDX-License-Identifier: Apache-2.0
// sql/query/group_finder.cpp: selects the strategy that finds the groups of a block's rows.
#include "sql/query/group_finder.hpp"

#include <algorithm>

namespace upsweep::query {

GroupFinder::GroupFinder(const QueryPlan& plan, const Kernels& kernels)
    : plan_(plan),
      kernels_(kernels),
      by_entries_(kernels),
      by_value_(kernels),
      by_words_(plan, kernels),
      by_hash_(plan) {}

void GroupFinder::find(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks, std::int32_t* group) {
  was_by_words_ = false;
  block_ = {.keys = std::move(block_.keys), .rows = evaluator.count(), .marks = marks};
  block_.keys.clear();
  if (plan_.keys.empty()) {
    std::fill_n(group, block_.rows, 0);
    if (marks != nullptr) kernels_.drop(marks, block_.rows, group);
    return;
  }
  for (const Node& key : plan_.keys) block_.keys.push_back(&evaluator.value(key));
  if (by_entries_.find(groups, block_, group)) return;
  const bool is_only = plan_.keys.size() == 1;
  if (is_only && groups.any_text_key()) return by_string_.find(groups, block_, group);
  if (is_only && by_value_.find(groups, block_, group)) return;
  was_by_words_ = by_words_.find(groups, block_, group);
  if (!was_by_words_) by_hash_.find(groups, block_, group);
}

bool GroupFinder::are_cached(const Groups& groups, std::int64_t most) const {
  if (was_by_words_) return groups.count() <= most && !groups.ascend();  // ascending groups are not seen again
  return by_value_.has_all(groups, most);
}

void GroupFinder::forget(const Groups& groups) {
  was_by_words_ = false;
  by_entries_.forget();
  by_string_.forget();
  if (plan_.keys.size() == 1 && !groups.any_text_key()) by_value_.forget(groups);
  if (!plan_.keys.empty()) by_words_.forget(groups);
  by_hash_.forget();
}

}  // namespace upsweep::query
