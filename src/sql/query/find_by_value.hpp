// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_value.hpp: groups of rows whose only key is a number near to all others: a table of all values.
#pragma once

#include <cstdint>
#include <vector>

#include "sql/query/block_keys.hpp"
#include "sql/query/groups.hpp"

namespace upsweep::query {

class FindByValue {
 public:
  /// The kernels outlive this.
  explicit FindByValue(const Kernels& kernels) : kernels_(kernels) {}

  /// False where a key is NULL, or too far from the others.
  bool find(Groups& groups, const BlockKeys& block, std::int32_t* group);
  /// Whether the table has all groups, and their keys differ by less than that.
  [[nodiscard]] bool has_all(const Groups& groups, std::int64_t most) const {
    return !by_value_.empty() && in_table_ == groups.count() && seen_.maximum - seen_.minimum < most;
  }
  /// `groups`, in which rows were found, mean nothing from here on.
  void forget(const Groups& groups);

 private:
  struct Values {
    std::int64_t minimum;
    std::int64_t maximum;
  };

  bool reserve_for(Values values, const Groups& groups);
  std::int32_t* place_of(const Groups& groups, std::int64_t group);
  std::int32_t group_of(Groups& groups, std::int64_t value) const;

  const Kernels& kernels_;
  std::vector<std::int32_t> by_value_;  ///< groups, or kUnseen
  std::int64_t first_ = 0;              ///< the value that has number 0
  Values seen_{};                       ///< of keys in the table
  std::int64_t in_table_ = 0;           ///< groups that the table has
  std::vector<std::int32_t> number_;    ///< by row
};

}  // namespace upsweep::query
