// SPDX-License-Identifier: Apache-2.0
// sql/query/row_gatherer.hpp: the outputs of the rows of a batch that conditions keep, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/answer_columns.hpp"
#include "sql/query/block_selection.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/row_order.hpp"

namespace upsweep::query {

/// The kept rows of a batch: all outputs of the plan, without places.
struct GatheredRows {
  AnswerChunk rows = {};
  std::exception_ptr error = {};  ///< of the row that follows these; null: there is none

  [[nodiscard]] std::size_t count() const { return rows.columns.empty() ? 0 : count_of(rows); }
};

class RowGatherer {
 public:
  /// The arguments must outlive this object.
  RowGatherer(const QueryPlan& plan, const Kernels& kernels);

  /// Returns the kept rows of a batch, in order. With LIMIT, some may be omitted: all rows past the limit, or with
  /// ORDER BY all rows that are not among the first. `last`: if not null, only rows that precede this row are needed.
  GatheredRows gather(const Batch& batch, const AnswerChunk* last);

 private:
  void add_block(const Batch& batch, std::int64_t first, int rows);
  void add_gathered(const Batch& batch);
  void add(Evaluator& evaluator);
  void add_one_by_one(const Batch& batch);
  [[nodiscard]] bool is_enough() const;

  const QueryPlan& plan_;
  const RowOrder order_;
  BlockSelection selection_;
  Evaluator gathered_;  ///< for rows of blocks that kept few rows
  std::vector<std::int32_t> rows_;
  std::vector<const Vector*> values_;
  std::vector<int> needed_;
  GatheredRows result_;
  const AnswerChunk* last_ = nullptr;
  std::int64_t done_ = 0;  ///< the kept rows before this row of the batch are in the result
};

}  // namespace upsweep::query
