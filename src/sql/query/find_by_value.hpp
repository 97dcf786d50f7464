// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_value.hpp: finds groups whose only key is a number close to all others, in a table of all values.
#pragma once

#include <cstdint>
#include <vector>

#include "sql/query/block_keys.hpp"
#include "sql/query/groups.hpp"

namespace upsweep::query {

class FindByValue {
 public:
  /// The kernels must outlive this object.
  explicit FindByValue(const Kernels& kernels) : kernels_(kernels) {}

  /// Returns false if a key is NULL, or too far from the others.
  bool find(Groups& groups, const BlockKeys& block, std::int32_t* group);
  /// Returns whether the table has all groups, and their keys differ by less than `most`.
  [[nodiscard]] bool has_all(const Groups& groups, std::int64_t most) const {
    return !by_value_.empty() && in_table_ == groups.count() && seen_.maximum - seen_.minimum < most;
  }
  /// `groups`, in which rows were found, are invalid from now on.
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
  std::int64_t first_ = 0;              ///< the value with index 0
  Values seen_{};                       ///< range of the keys in the table
  std::int64_t in_table_ = 0;           ///< number of groups in the table
  std::vector<std::int32_t> number_;    ///< by row
};

}  // namespace upsweep::query
