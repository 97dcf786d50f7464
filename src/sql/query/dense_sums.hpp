// SPDX-License-Identifier: Apache-2.0
// sql/query/dense_sums.hpp: one-pass sums over blocks that keep many rows: conditions become masks.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Supports queries without GROUP BY that have bounds of one column or no condition. Their aggregates are COUNTs and
/// sums of an exact column or of the product of two (COUNTs only of columns), such as `SUM(quantity * extendedprice) …
/// WHERE suppkey < Z`.
class DenseSums {
 public:
  /// The arguments must outlive this object.
  DenseSums(const QueryPlan& plan, const std::vector<Condition>& conditions, const Kernels& kernels);

  /// Adds a block's rows to the groups, and returns the number of kept rows. Returns nothing, and adds nothing, if the
  /// query is not supported. This also applies if columns have NULLs or a width other than 64 bits, or if a sum may
  /// need more bits.
  std::optional<int> add(const Batch& batch, std::int64_t first, int rows, Groups& groups);

 private:
  /// The input of an aggregate: left, or left · right; these are columns, -1 for none.
  struct Term {
    Fold fold = Fold::count_rows;
    int left = -1;
    int right = -1;
    std::int64_t sum = 0;  ///< sum of the current block
  };

  [[nodiscard]] std::optional<Term> term_of(const Aggregate& aggregate) const;
  [[nodiscard]] int column_of(const Node& node) const;
  [[nodiscard]] bool has_nulls(const Batch& batch, int column) const;
  [[nodiscard]] const void* values(const Batch& batch, int column, std::int64_t first) const;
  bool add_up(Term& term, const Batch& batch, std::int64_t first, int rows, int& kept) const;

  const QueryPlan& plan_;
  std::vector<Term> terms_;  ///< by aggregate; empty: the query is not supported
  int key_ = -1;             ///< the bounded column; -1: every row is kept
  StoredBounds range_{};
  std::remove_cvref_t<decltype(Kernels::sum_in_range[0])> kernel_ = nullptr;
};

}  // namespace upsweep::query
