// SPDX-License-Identifier: Apache-2.0
// sql/query/row_gatherer.cpp: evaluates conditions block by block, then the outputs of the kept rows. A batch in which
// a row fails is computed row by row, so that the rows before that row are known.
#include "sql/query/row_gatherer.hpp"

#include <algorithm>
#include <utility>

#include "sql/query/row_sort.hpp"

namespace upsweep::query {

RowGatherer::RowGatherer(const QueryPlan& plan, const Kernels& kernels)
    : plan_(plan),
      order_(plan),
      selection_(plan, kernels),
      gathered_(plan.fields, plan.nodes, plan.sql, kernels),
      values_(plan.outputs.size()) {}

GatheredRows RowGatherer::gather(const Batch& batch, const AnswerChunk* last) {
  result_ = {};
  for (const Output& output : plan_.outputs) result_.rows.columns.push_back({.kind = output.value->type.kind});
  last_ = last;
  rows_.clear();
  done_ = 0;
  try {
    for (std::int64_t first = 0; first < batch.rows && !is_enough(); first += kBlock) {
      add_block(batch, first, static_cast<int>(std::min<std::int64_t>(kBlock, batch.rows - first)));
    }
    add_gathered(batch);
  } catch (const RowFailure&) {
    add_one_by_one(batch);
  }
  if (!plan_.order.empty() && std::cmp_greater(result_.count(), plan_.limit)) {
    const std::span<const AnswerChunk> all(&result_.rows, 1);
    result_.rows = chunk_of(all, first_rows(plan_, all));
  }
  return std::move(result_);
}

/// Returns whether further rows are past the limit.
bool RowGatherer::is_enough() const {
  return plan_.order.empty() && std::cmp_greater_equal(result_.count(), plan_.limit);
}

void RowGatherer::add_block(const Batch& batch, std::int64_t first, int rows) {
  (void)selection_.select(batch, first, rows, false);
  if (!selection_.gathers()) {
    add_gathered(batch);
    add(selection_.evaluator());
    done_ = first + rows;
    return;
  }
  selection_.append_rows(rows_);
  if (std::ssize(rows_) > kMostGathered) add_gathered(batch);
}

void RowGatherer::add_gathered(const Batch& batch) {
  if (rows_.empty()) return;
  gathered_.start(batch, rows_);
  add(gathered_);
  done_ = rows_.back() + 1;
  rows_.clear();
}

/// Adds the outputs of the evaluator's rows. Adds none if one of them fails.
void RowGatherer::add(Evaluator& evaluator) {
  if (evaluator.count() == 0) return;
  for (std::size_t c = 0; c < values_.size(); ++c) values_[c] = &evaluator.value(plan_.outputs[c].value);
  std::span<const int> needed = kAllRows.first(static_cast<std::size_t>(evaluator.count()));
  if (last_ != nullptr) {
    needed_.clear();
    for (const int row : needed) {
      if (order_.compare(values_, row, *last_, 0) < 0) needed_.push_back(row);
    }
    needed = needed_;
  }
  if (needed.empty()) return;
  for (std::size_t c = 0; c < values_.size(); ++c) append(*values_[c], needed, result_.rows.columns[c]);
}

/// Adds the rows that are not done, up to the first one that fails.
void RowGatherer::add_one_by_one(const Batch& batch) {
  Evaluator& evaluator = selection_.evaluator();
  for (; done_ < batch.rows && !is_enough(); ++done_) {
    try {
      evaluator.start(batch, done_, 1);
      for (const Condition& condition : selection_.conditions()) evaluator.keep(condition);
      add(evaluator);
    } catch (const RowFailure&) {
      result_.error = std::current_exception();
      return;
    }
  }
}

}  // namespace upsweep::query
