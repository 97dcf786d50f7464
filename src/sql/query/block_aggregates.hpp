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
  bool are_all;  ///< every row has a group
};

/// Counts and sums of many groups are stored contiguously, group after group, and added to the states at the end. A
/// group's row takes half a cache line or more, but a group takes only a few bytes here.
class BlockAggregates {
 public:
  /// The arguments must outlive this object.
  BlockAggregates(const QueryPlan& plan, const Kernels& kernels);

  /// Adds the evaluator's current rows. Throws the errors of the evaluator.
  void add(Evaluator& evaluator, const BlockGroups& block);
  /// Adds the remaining counts and sums to the states. The states are incomplete until then.
  void settle(Groups& groups);
  /// Drops counts and sums that are not in the states.
  void forget();

 private:
  /// Sums of many groups.
  struct Sums {
    std::vector<std::int64_t> sums;  ///< [g + 1] is the sum of group g, [0] that of rows without a group
    UInt128 bound = 0;               ///< bound of the values
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
  std::vector<double> reals_;  ///< values of rows that have a group
  bool few_are_counted_ = false;
  std::int64_t rows_of_few_[kFewGroups] = {};
  std::vector<std::int32_t> counts_;  ///< rows that are not in the states yet, indexed like Sums::sums
  std::int64_t rows_counted_ = 0;     ///< number of rows in counts_
  std::vector<Sums> many_;            ///< by aggregate
};

}  // namespace upsweep::query
