// SPDX-License-Identifier: Apache-2.0
// sql/query/group_fold.hpp: folds blocks of rows into groups, on one thread: finds groups, or leaves rows unaggregated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/block_aggregates.hpp"
#include "sql/query/group_finder.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/unaggregated_writer.hpp"

namespace upsweep::query {

/// From start() to finish(), all calls must use the same groups.
class GroupFold {
 public:
  /// The first two arguments must outlive this object. `most_cached`: if the rows' groups are found immediately, and
  /// hardly exceed this number, they are kept for further batches. No rows stay unaggregated in that case.
  GroupFold(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_cached);

  /// Begins new groups.
  void start();
  /// Must be called before the first block of each batch, which has `rows` rows.
  void start_batch(Groups& groups, std::int64_t rows);
  /// Adds the evaluator's rows or, with `marks`, only the marked rows. Throws Error out_of_memory, and the evaluator's
  /// errors. With `marks`, the error may be of a row that is not marked. No aggregate has changed in that case.
  void add(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks = nullptr);
  /// Returns GroupFinder::are_cached().
  [[nodiscard]] bool are_cached(const Groups& groups) const { return finder_->are_cached(groups, most_cached_); }
  /// Completes the states. They do not include all rows before this call.
  void finish(Groups& groups);

 private:
  void merge_unaggregated(Groups& groups);

  const QueryPlan& plan_;
  const Kernels& kernels_;
  std::int64_t most_cached_;
  bool is_started_ = false;
  std::optional<GroupFinder> finder_;
  BlockAggregates aggregates_;
  UnaggregatedWriter writer_;
  std::vector<std::int32_t> group_;  ///< by row of a block; kNoGroup: not marked
};

}  // namespace upsweep::query
