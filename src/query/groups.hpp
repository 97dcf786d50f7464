// SPDX-License-Identifier: Apache-2.0
// query/groups.hpp: the carry of a query: what its aggregates have come to, group by group; pieces of a table merge in order.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expression/dictionary.hpp"
#include "expression/evaluate.hpp"
#include "query/plan.hpp"

namespace upsweep::query {

/// What an aggregate has come to in a group.
struct State {
  Int128 exact = 0;       ///< the sum, the least or the greatest; of text: an entry of the groups' dictionary
  std::int64_t high = 0;  ///< how many times 2^128 the sum exceeds `exact`; not 0 means that it does not fit
  double real = 0;
  std::int64_t count = 0;  ///< rows that went in
};

/// More groups are no low-cardinality grouping: a query that has them is refused before memory runs out.
inline constexpr std::int64_t kMostGroups = 1 << 20;

class Groups {
 public:
  Groups(const Plan& plan, const Kernels& kernels);

  /// The rows that an evaluator has at hand or, with `marks`, those of them that are marked. Throws Error unsupported_sql (too
  /// many groups), and the evaluator's: with `marks` it may be of a row that is not marked, and no aggregate has changed.
  void add(Evaluator& evaluator, const std::uint64_t* marks = nullptr);
  /// Rows that were summed elsewhere, to the only group of a query without GROUP BY.
  void add(std::size_t aggregate, std::int64_t sum, int rows);
  /// Groups of rows that come later. Throws Error unsupported_sql (too many groups), overflow (of a count of rows).
  void merge(const Groups& later);

  /// For carries that come from elsewhere: the group of a key, a new one where there is none; keys that are NULL have the
  /// value 0, and text has its entry's index. Throws Error unsupported_sql (too many groups).
  std::int64_t find(const Int128* key, const std::uint8_t* nulls);
  std::int32_t entry(std::string_view text) { return texts_.entry(text); }
  State& state(std::int64_t group, std::size_t aggregate) {
    return states_[static_cast<std::size_t>(group) * plan_->aggregates.size() + aggregate];
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Groups have the order in which their first rows came.
  [[nodiscard]] const State& state(std::int64_t group, std::size_t aggregate) const {
    return states_[static_cast<std::size_t>(group) * plan_->aggregates.size() + aggregate];
  }
  /// Of text keys and aggregates: `exact` is an index into texts().
  [[nodiscard]] Int128 key(std::int64_t group, std::size_t which) const {
    return keys_[static_cast<std::size_t>(group) * plan_->keys.size() + which];
  }
  [[nodiscard]] bool key_is_null(std::int64_t group, std::size_t which) const {
    return key_nulls_[static_cast<std::size_t>(group) * plan_->keys.size() + which] != 0;
  }
  [[nodiscard]] const std::deque<std::string>& texts() const { return texts_.all(); }

 private:
  /// A batch's dictionary as entries of the groups': filled as they are met.
  struct Translation {
    std::shared_ptr<const Dictionary> from;
    std::vector<std::int32_t> to;
  };

  void grow();
  [[nodiscard]] std::size_t hash(const Int128* key, const std::uint8_t* nulls) const;
  void translate(std::size_t which, const std::shared_ptr<const Dictionary>& dictionary);
  Int128 key_at(std::size_t which, const Vector& v, int i);
  void assign(Evaluator& evaluator, int n, const std::uint64_t* marks);
  bool assign_by_entries(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks);
  void include_sums(std::size_t aggregate, const Vector& v, int n);
  void include_reals(std::size_t aggregate, const Vector& v, int n);
  void include_extremes(std::size_t aggregate, const Vector& v, int n);
  const std::int64_t* rows_of_few(int n);
  void count_rows(std::size_t aggregate, const Vector& v, int n);
  void improve(State& best, const State& other, Fold fold, ValueKind kind) const;

  const Plan* plan_;
  const Kernels* kernels_;
  std::int64_t count_ = 0;
  std::vector<Int128> keys_;
  std::vector<std::uint8_t> key_nulls_;
  std::vector<State> states_;
  Texts texts_;
  std::vector<std::int32_t> table_;  ///< hash table of groups; -1: free

  // Of the block at hand.
  std::vector<std::int32_t> group_;   ///< by row; kNoGroup: not marked
  bool are_all_ = true;               ///< no row is without group
  std::vector<std::int32_t> number_;  ///< by row: its keys' entries as one number
  std::vector<std::int64_t> sums_;    ///< [g + 1]: of group g; [0]: of rows without group
  std::vector<double> reals_;         ///< of rows that have a group
  bool few_are_counted_ = false;
  std::int64_t rows_of_few_[kFewGroups] = {};
  std::vector<Translation> translations_;  ///< by key
  std::vector<std::int32_t> by_entries_;   ///< groups by the entries of all keys; kUnmet; empty: of none
};

}  // namespace upsweep::query
