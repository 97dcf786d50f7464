// SPDX-License-Identifier: Apache-2.0
// sql/query/dense_sums.hpp: sums over blocks of which many rows are kept, in one pass: conditions become masks, not selection vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// For a query without GROUP BY, with bounds of one column or no condition, whose aggregates are COUNTs and sums of an exact
/// column or of the product of two (COUNTs of columns only), such as `SUM(quantity * extendedprice) … WHERE suppkey < Z`.
class DenseSums {
 public:
  /// The arguments outlive this.
  DenseSums(const QueryPlan& plan, const std::vector<Condition>& conditions, const Kernels& kernels);

  /// Adds a block's rows to the groups, and returns how many are kept. None, and nothing is added, where the query is another
  /// one, where columns have NULLs or other than 64 bits, or where a sum may need more.
  std::optional<int> add(const Batch& batch, std::int64_t first, int rows, Groups& groups);

 private:
  /// What an aggregate is of: left, or of left · right: columns, -1 for none.
  struct Term {
    Fold fold = Fold::count_rows;
    int left = -1;
    int right = -1;
    std::int64_t sum = 0;  ///< of the current block
  };

  [[nodiscard]] std::optional<Term> term_of(const Aggregate& aggregate) const;
  [[nodiscard]] int column_of(const Node& node) const;
  [[nodiscard]] bool has_nulls(const Batch& batch, int column) const;
  [[nodiscard]] const void* values(const Batch& batch, int column, std::int64_t first) const;
  bool add_up(Term& term, const Batch& batch, std::int64_t first, int rows, int& kept) const;

  const QueryPlan& plan_;
  std::vector<Term> terms_;  ///< by aggregate; empty: the query is another one
  int key_ = -1;             ///< the column that is bounded; -1: every row is kept
  StoredBounds range_{};
  std::remove_cvref_t<decltype(Kernels::sum_in_range[0])> kernel_ = nullptr;
};

}  // namespace upsweep::query
