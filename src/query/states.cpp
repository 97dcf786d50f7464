// SPDX-License-Identifier: Apache-2.0
// query/states.cpp: which states there are, and states that become wide.
#include "query/states.hpp"

#include <algorithm>

namespace upsweep::query {
namespace {

bool is_count(Fold fold) { return fold == Fold::count_rows || fold == Fold::count; }

}  // namespace

States::States(const Plan& plan)
    : are_counts_(std::all_of(plan.aggregates.begin(), plan.aggregates.end(),
                              [](const Aggregate& a) { return is_count(a.fold); })) {
  for (const Aggregate& a : plan.aggregates) {
    are_real_.push_back(!is_count(a.fold) && a.type.kind == ValueKind::real ? 1 : 0);
  }
}

void States::widen() {
  const std::size_t width = are_real_.size();
  wide_.resize(narrow_.size());
  for (std::size_t i = 0; i < narrow_.size(); ++i) wide_[i] = get(i, i % width);
  narrow_ = {};
  is_wide_ = true;
}

}  // namespace upsweep::query
