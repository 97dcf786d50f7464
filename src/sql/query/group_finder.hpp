// SPDX-License-Identifier: Apache-2.0
// sql/query/group_finder.hpp: finds the group of each row of a block, with the strategy that fits the block's keys.
#pragma once

#include <cstdint>

#include "sql/query/block_keys.hpp"
#include "sql/query/find_by_entries.hpp"
#include "sql/query/find_by_hash.hpp"
#include "sql/query/find_by_string.hpp"
#include "sql/query/find_by_value.hpp"
#include "sql/query/find_by_words.hpp"
#include "sql/query/groups.hpp"

namespace upsweep::query {

class GroupFinder {
 public:
  /// The arguments must outlive this object.
  GroupFinder(const QueryPlan& plan, const Kernels& kernels);

  /// Finds the groups of a block's rows, kNoGroup for rows that are not marked. Adds groups that do not exist. Throws
  /// the errors of Groups::find() and of the evaluator.
  void find(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks, std::int32_t* group);
  /// Returns whether the last block's groups were found by its rows' words.
  [[nodiscard]] bool was_by_words() const { return was_by_words_; }
  /// Returns whether all groups are found immediately. They are found by the value of the only key if these values
  /// differ by less than `most`. They are found by words if there are at most `most` groups, which do not ascend.
  [[nodiscard]] bool are_cached(const Groups& groups, std::int64_t most) const;
  /// `groups`, in which rows were found, are invalid from now on.
  void forget(const Groups& groups);

 private:
  const QueryPlan& plan_;
  const Kernels& kernels_;
  BlockKeys block_;
  FindByEntries by_entries_;
  FindByString by_string_;
  FindByValue by_value_;
  FindByWords by_words_;
  FindByHash by_hash_;
  bool was_by_words_ = false;
};

}  // namespace upsweep::query
