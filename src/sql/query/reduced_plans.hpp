// SPDX-License-Identifier: Apache-2.0
// sql/query/reduced_plans.hpp: plans with fewer conditions, for row groups whose statistics prove the other conditions.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "sql/query/plan.hpp"
#include "sql/query/statistics.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// A plan is created when it is first needed.
class ReducedPlans {
 public:
  /// The arguments must outlive this object.
  ReducedPlans(const QueryPlan& plan, const Table& table) : plan_(plan), table_(table) {}

  const QueryPlan& plan_for(int row_group) {
    std::vector<bool> kept;
    kept.reserve(plan_.filters.size());
    // Conditions that can fail remain: whether a row fails must not depend on statistics.
    for (const Node& filter : plan_.filters) {
      kept.push_back(filter->can_fail || !must_hold(*filter, plan_, table_, row_group));
    }
    const auto [found, is_new] = plans_.try_emplace(kept);
    if (!is_new) return found->second;
    QueryPlan& plan = found->second = plan_;
    plan.filters.clear();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) plan.filters.push_back(plan_.filters[i]);
    }
    return plan;
  }

 private:
  const QueryPlan& plan_;
  const Table& table_;
  std::map<std::vector<bool>, QueryPlan> plans_;
};

}  // namespace upsweep::query
