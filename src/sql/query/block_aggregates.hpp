// SPDX-License-Identifier: Apache-2.0
// sql/query/block_aggregates.hpp: folds the values of a block's rows into the states of their groups.
#pragma once

#include <cstdint>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// The groups of a block's rows.
struct BlockGroups {
  Groups& groups;
  const std::int32_t* group;  ///< by row; kNoGroup: the row is not kept
  int rows;
  bool are_all;  ///< no row is without group
};

/// Rows and sums of many groups are added up side by side, group after group, and go into the states at the end: a group's row takes
/// half a cache line and more, and a group has only a few bytes here.
class BlockAggregates {
 public:
  /// The arguments outlive this.
  BlockAggregates(const QueryPlan& plan, const Kernels& kernels);

  /// Adds the rows that the evaluator has. Throws what the evaluator does.
  void add(Evaluator& evaluator, const BlockGroups& block);
  /// Adds to the states what has not gone into them yet. Until then states are not complete.
  void settle(Groups& groups);
  /// Drops what has not gone into states.
  void forget();

 private:
  /// Sums of many groups.
  struct Sums {
    std::vector<std::int64_t> sums;  ///< [g + 1] is of group g, [0] of rows without group
    UInt128 bound = 0;               ///< of the values
    std::int64_t rows = 0;           ///< rows added: no sum exceeds this number times the bound

    void forget() {
      sums.clear();
      bound = 0;
      rows = 0;
    }
  };

  void count_for_all(const BlockGroups& block);
  bool include_many(std::size_t aggregate, const Vector& v, const BlockGroups& block);
  void settle_sums(Groups& groups, std::size_t aggregate);
  void include_sums(std::size_t aggregate, const Vector& v, const BlockGroups& block);
  void include_reals(std::size_t aggregate, const Vector& v, const BlockGroups& block);
  void include_extremes(std::size_t aggregate, const Vector& v, const BlockGroups& block) const;
  const std::int64_t* rows_of_few(const BlockGroups& block);
  void count_rows(std::size_t aggregate, const Vector& v, const BlockGroups& block);

  const QueryPlan& plan_;
  const Kernels& kernels_;
  std::vector<double> reals_;  ///< of rows that have a group
  bool few_are_counted_ = false;
  std::int64_t rows_of_few_[kFewGroups] = {};
  std::vector<std::int32_t> counts_;  ///< rows that are not in states yet, as Sums::sums
  std::int64_t rows_counted_ = 0;     ///< there
  std::vector<Sums> many_;            ///< by aggregate
};

}  // namespace upsweep::query
