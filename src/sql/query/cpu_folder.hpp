// SPDX-License-Identifier: Apache-2.0
// sql/query/cpu_folder.hpp: folds batches into groups on one thread of the CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/block_selection.hpp"
#include "sql/query/dense_sums.hpp"
#include "sql/query/execute.hpp"
#include "sql/query/group_fold.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

class CpuFolder final : public Folder {
 public:
  /// The arguments must outlive this object.
  CpuFolder(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_cached = 0);
  Groups fold(std::span<const Batch> batches) override;
  Groups begin(std::span<const Batch> batches) override;
  void fold_on(std::span<const Batch> batches, Groups& groups) override;
  void finish(Groups& groups) override { fold_.finish(groups); }
  [[nodiscard]] bool are_cached(const Groups& groups) const override { return fold_.are_cached(groups); }
  void reuse(Groups&& groups) override { groups_.emplace(std::move(groups)); }

 private:
  void add_block(const Batch& batch, std::int64_t first, int rows, Groups& groups);
  bool add_marked(const Batch& batch, Groups& groups);
  void add_gathered(const Batch& batch, Groups& groups);

  const QueryPlan& plan_;
  GroupFold fold_;
  BlockSelection selection_;
  Evaluator gathered_;  ///< for rows of blocks that kept few rows
  std::vector<std::int32_t> rows_;
  DenseSums dense_sums_;
  bool marks_rows_ = true;        ///< blocks may be computed as a whole: no block of this chunk has failed yet
  int kept_ = 0;                  ///< rows that the last block kept
  std::optional<Groups> groups_;  ///< groups of the last chunk, for their memory
};

}  // namespace upsweep::query
