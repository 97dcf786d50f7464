// SPDX-License-Identifier: Apache-2.0
// sql/query/cpu_folder.cpp: conditions block by block, then the rows that are kept: as they lie in memory, or gathered.
#include "sql/query/cpu_folder.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sql/query/row_group_reader.hpp"
#include "sql/tuning.hpp"

namespace upsweep::query {
namespace {

// A block with fewer rows left than that gives them away.
constexpr int kFew = kBlock / tuning::kSelection.few;
// Sums that need no list of rows are added up over whole blocks where the last one had that many left.
constexpr int kDense = kBlock / tuning::kSelection.dense;
// A block with that many left is computed whole, and the rows that are not kept belong to no group.
constexpr int kMany = kBlock / tuning::kSelection.many;
// With that many left, bounds of a column are tried on all of it.
constexpr int kSome = kBlock / tuning::kSelection.some;

}  // namespace

CpuFolder::CpuFolder(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_cached)
    : plan_(plan),
      fold_(plan, kernels, most_cached),
      conditions_(conditions_of(plan.filters)),
      evaluator_(plan.fields, plan.nodes, plan.sql, kernels),
      gathered_(plan.fields, plan.nodes, plan.sql, kernels),
      dense_sums_(plan, conditions_, kernels) {
  // Of two rows that fail, the first is reported: no condition is tried ahead of what precedes it if that could show.
  for (const Node& filter : plan.filters) gathers_ = gathers_ && !filter->can_fail;
  const std::set<int> early = columns_of(plan.filters);
  for (const int column : columns_read(plan)) {
    if (!early.contains(column)) later_columns_.push_back(column);
  }
}

Groups CpuFolder::fold(std::span<const Batch> batches) {
  Groups groups = begin(batches);
  finish(groups);
  return groups;
}

Groups CpuFolder::begin(std::span<const Batch> batches) {
  if (!groups_) groups_.emplace(plan_);
  Groups groups = std::move(*groups_);
  groups_.reset();
  groups.clear();
  fold_.start();
  fold_on(batches, groups);
  return groups;
}

void CpuFolder::fold_on(std::span<const Batch> batches, Groups& groups) {
  rows_.clear();  // of a chunk that memory did not suffice for
  // Whatever this thread had before: how a chunk is computed, and so the order of its float sums, depends on it alone. Only
  // kept_ stays: dense_sums_, which go by it, are exact.
  marks_rows_ = true;
  for (const Batch& batch : batches) {
    fold_.start_batch(groups, batch.rows);
    for (std::int64_t first = 0; first < batch.rows; first += kBlock) {
      add_block(batch, first, static_cast<int>(std::min<std::int64_t>(kBlock, batch.rows - first)), groups);
    }
    add_gathered(batch, groups);
  }
}

void CpuFolder::add_block(const Batch& batch, std::int64_t first, int rows, Groups& groups) {
  if (kept_ >= kDense) {
    if (const auto kept = dense_sums_.add(batch, first, rows, groups)) {
      kept_ = *kept;
      return;
    }
  }
  evaluator_.start(batch, first, rows);
  if (mark_rows() && add_marked(batch, groups)) return;
  if (kept_ >= kFew || !gathers_) {
    add_gathered(batch, groups);
    fold_.add(groups, evaluator_);
    return;
  }
  evaluator_.append_rows(rows_, later_columns_);
  if (std::ssize(rows_) > kBlock - kFew) add_gathered(batch, groups);
}

/// Tries the conditions: of all rows while many are left, and then of those. True: the evaluator has all rows, and those that are
/// kept are marked. False: it has only those that are kept.
bool CpuFolder::mark_rows() {
  const int rows = evaluator_.count();
  auto next = conditions_.begin();
  kept_ = rows;
  if (gathers_) evaluator_.mark_all(marks_);
  for (; gathers_ && next != conditions_.end() && kept_ >= (next->bounds ? kSome : kMany); ++next) {
    kept_ = evaluator_.mark(*next, marks_);
  }
  if (next == conditions_.end() && kept_ >= kMany && kept_ < rows && marks_rows_) return true;
  if (kept_ < rows) evaluator_.keep_marked(marks_);
  for (; next != conditions_.end(); ++next) evaluator_.keep(*next);
  kept_ = evaluator_.count();
  return false;
}

/// False, and nothing of the block is added, where a row has failed that may not be kept: then the evaluator has only those that are
/// kept.
bool CpuFolder::add_marked(const Batch& batch, Groups& groups) {
  add_gathered(batch, groups);
  try {
    fold_.add(groups, evaluator_, marks_);
    return true;
  } catch (const Error&) {
    marks_rows_ = false;
    evaluator_.keep_marked(marks_);
    return false;
  }
}

void CpuFolder::add_gathered(const Batch& batch, Groups& groups) {
  if (rows_.empty()) return;
  gathered_.start(batch, rows_);
  rows_.clear();
  fold_.add(groups, gathered_);
}

}  // namespace upsweep::query
