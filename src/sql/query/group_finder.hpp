// SPDX-License-Identifier: Apache-2.0
// sql/query/group_finder.hpp: finds the group of each row of a block, by the strategy that fits the block's keys.
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
  /// The arguments outlive this.
  GroupFinder(const QueryPlan& plan, const Kernels& kernels);

  /// The groups of a block's rows, kNoGroup of those that are not marked; new ones where there are none. Throws as Groups::find()
  /// and the evaluator do.
  void find(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks, std::int32_t* group);
  /// Whether the last block's groups were found by its rows' words.
  [[nodiscard]] bool was_by_words() const { return was_by_words_; }
  /// Whether all groups are found at once: by the value of the only key, where these are less than `most` apart, or by words,
  /// where there are at most that many groups, which do not ascend.
  [[nodiscard]] bool are_cached(const Groups& groups, std::int64_t most) const;
  /// `groups`, in which rows were found, mean nothing from here on.
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
