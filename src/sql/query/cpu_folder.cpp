// SPDX-License-Identifier: Apache-2.0
// sql/query/cpu_folder.cpp: evaluates conditions block by block, then folds the kept rows, in place or gathered.
#include "sql/query/cpu_folder.hpp"

#include <algorithm>
#include <utility>

#include "sql/tuning.hpp"

namespace upsweep::query {
namespace {

// If the last block kept this number of rows, sums that need no row list are computed over whole blocks.
constexpr int kDense = kBlock / tuning::kSelection.dense;

}  // namespace

CpuFolder::CpuFolder(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_cached)
    : plan_(plan),
      fold_(plan, kernels, most_cached),
      selection_(plan, kernels),
      gathered_(plan.fields, plan.nodes, plan.sql, kernels),
      dense_sums_(plan, selection_.conditions(), kernels) {}

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
  const bool is_marked = selection_.select(batch, first, rows, marks_rows_);
  kept_ = selection_.kept();
  if (is_marked && add_marked(batch, groups)) return;
  if (!selection_.gathers()) {
    add_gathered(batch, groups);
    fold_.add(groups, selection_.evaluator());
    return;
  }
  selection_.append_rows(rows_);
  if (std::ssize(rows_) > kMostGathered) add_gathered(batch, groups);
}

/// Returns false and adds nothing if a row failed that may not be kept. The evaluator then has only the kept rows.
bool CpuFolder::add_marked(const Batch& batch, Groups& groups) {
  add_gathered(batch, groups);
  try {
    fold_.add(groups, selection_.evaluator(), selection_.marks());
    return true;
  } catch (const Error&) {
    marks_rows_ = false;
    selection_.keep_marked();
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
