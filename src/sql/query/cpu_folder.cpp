// SPDX-License-Identifier: Apache-2.0
// sql/query/cpu_folder.cpp: evaluates conditions block by block, then folds the kept rows, in place or gathered.
#include "sql/query/cpu_folder.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sql/query/row_group_reader.hpp"
#include "sql/tuning.hpp"

namespace upsweep::query {
namespace {

// A block that keeps fewer rows passes them on to be gathered.
constexpr int kFew = kBlock / tuning::kSelection.few;
// If the last block kept this number of rows, sums that need no row list are computed over whole blocks.
constexpr int kDense = kBlock / tuning::kSelection.dense;
// A block that keeps this number of rows is computed as a whole. Rows that are not kept belong to no group.
constexpr int kMany = kBlock / tuning::kSelection.many;
// If this number of rows is kept, bounds of a column are tested on all rows of the block.
constexpr int kSome = kBlock / tuning::kSelection.some;

}  // namespace

CpuFolder::CpuFolder(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_cached)
    : plan_(plan),
      fold_(plan, kernels, most_cached),
      conditions_(conditions_of(plan.filters)),
      evaluator_(plan.fields, plan.nodes, plan.sql, kernels),
      gathered_(plan.fields, plan.nodes, plan.sql, kernels),
      dense_sums_(plan, conditions_, kernels) {
  // If two rows fail, the first is reported. A condition is therefore not evaluated earlier if that could be visible.
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
  rows_.clear();  // left by a chunk that ran out of memory
  // The state is reset independently of earlier work of this thread. How a chunk is computed, and so the order of its
  // float sums, depends only on the chunk. Only kept_ remains: dense_sums_ uses it, and its sums are exact.
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

/// Evaluates the conditions: on all rows while many are kept, then on the kept rows. Returns true if the evaluator has
/// all rows and the kept rows are marked. Returns false if the evaluator has only the kept rows.
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

/// Returns false and adds nothing if a row failed that may not be kept. The evaluator then has only the kept rows.
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
