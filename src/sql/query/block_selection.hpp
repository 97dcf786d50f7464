// SPDX-License-Identifier: Apache-2.0
// sql/query/block_selection.hpp: evaluates the conditions of a plan on the rows of a block.
#pragma once

#include <cstdint>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/plan.hpp"
#include "sql/tuning.hpp"

namespace upsweep::query {

/// A block that keeps fewer rows passes them on to be gathered.
inline constexpr int kFew = kBlock / tuning::kSelection.few;
/// If more rows are gathered, the next block may not fit.
inline constexpr int kMostGathered = kBlock - kFew;

class BlockSelection {
 public:
  /// The arguments must outlive this object.
  BlockSelection(const QueryPlan& plan, const Kernels& kernels);

  /// Evaluates the conditions: on all rows while many are kept, then on the kept rows. Returns true if the evaluator
  /// has all rows and the kept rows are marked, which is possible if `may_mark`. Returns false if the evaluator has
  /// only the kept rows.
  bool select(const Batch& batch, std::int64_t first, int rows, bool may_mark);

  /// Returns the number of rows that the last block kept.
  [[nodiscard]] int kept() const { return kept_; }
  /// Returns whether the kept rows are so few that they are computed with those of later blocks.
  [[nodiscard]] bool gathers() const { return may_gather_ && kept_ < kFew; }
  /// Appends the numbers of the kept rows, and prefetches their values in the columns that no condition reads.
  void append_rows(std::vector<std::int32_t>& rows) const { evaluator_.append_rows(rows, later_columns_); }
  void keep_marked() { evaluator_.keep_marked(marks_); }

  [[nodiscard]] Evaluator& evaluator() { return evaluator_; }
  [[nodiscard]] const std::uint64_t* marks() const { return marks_; }
  [[nodiscard]] const std::vector<Condition>& conditions() const { return conditions_; }

 private:
  std::vector<Condition> conditions_;
  Evaluator evaluator_;
  std::vector<int> later_columns_;  ///< columns that no condition reads
  bool may_gather_ = true;
  int kept_ = 0;
  std::uint64_t marks_[kBlockMarks] = {};
};

}  // namespace upsweep::query
