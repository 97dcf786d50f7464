// SPDX-License-Identifier: Apache-2.0
// sql/query/block_selection.cpp: tests conditions on bitmaps while many rows are kept, then on lists of rows.
#include "sql/query/block_selection.hpp"

#include <set>

#include "sql/query/row_group_reader.hpp"

namespace upsweep::query {
namespace {

// A block that keeps this number of rows is computed as a whole. Rows that are not kept belong to no group.
constexpr int kMany = kBlock / tuning::kSelection.many;
// If this number of rows is kept, bounds of a column are tested on all rows of the block.
constexpr int kSome = kBlock / tuning::kSelection.some;

}  // namespace

BlockSelection::BlockSelection(const QueryPlan& plan, const Kernels& kernels)
    : conditions_(conditions_of(plan.filters)), evaluator_(plan.fields, plan.nodes, plan.sql, kernels) {
  // If two rows fail, the first is reported. A condition is therefore not evaluated earlier if that could be visible.
  for (const Node& filter : plan.filters) may_gather_ = may_gather_ && !filter->can_fail;
  const std::set<int> early = columns_of(plan.filters);
  for (const int column : columns_read(plan)) {
    if (!early.contains(column)) later_columns_.push_back(column);
  }
}

bool BlockSelection::select(const Batch& batch, std::int64_t first, int rows, bool may_mark) {
  evaluator_.start(batch, first, rows);
  auto next = conditions_.begin();
  kept_ = rows;
  if (may_gather_) evaluator_.mark_all(marks_);
  for (; may_gather_ && next != conditions_.end() && kept_ >= (next->bounds ? kSome : kMany); ++next) {
    kept_ = evaluator_.mark(*next, marks_);
  }
  if (next == conditions_.end() && kept_ >= kMany && kept_ < rows && may_mark) return true;
  if (kept_ < rows) evaluator_.keep_marked(marks_);
  for (; next != conditions_.end(); ++next) evaluator_.keep(*next);
  kept_ = evaluator_.count();
  return false;
}

}  // namespace upsweep::query
