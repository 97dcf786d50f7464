// SPDX-License-Identifier: Apache-2.0
// sql/query/group_fold.hpp: folds blocks of rows into groups, on one thread: finds their groups, or leaves them unaggregated.
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

/// From start() to finish() all calls are for the same groups.
class GroupFold {
 public:
  /// The first two outlive this. `most_cached`: if the rows' groups are found at once, and there will hardly be more than that, they
  /// are kept for further batches, and no rows stay unaggregated.
  GroupFold(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_cached);

  /// Begins groups, of which there are none.
  void start();
  /// Before the first block of each batch, which has that many rows.
  void start_batch(Groups& groups, std::int64_t rows);
  /// Adds the rows that an evaluator has or, with `marks`, those of them that are marked. Throws Error out_of_memory, and
  /// the evaluator's: with `marks` it may be of a row that is not marked, and no aggregate has changed.
  void add(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks = nullptr);
  /// GroupFinder::are_cached().
  [[nodiscard]] bool are_cached(const Groups& groups) const { return finder_->are_cached(groups, most_cached_); }
  /// Only after this call states have all rows.
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
