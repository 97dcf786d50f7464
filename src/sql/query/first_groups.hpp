// SPDX-License-Identifier: Apache-2.0
// sql/query/first_groups.hpp: LIMIT without ORDER BY: the groups with the first places, of groups that come in any order.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Groups that follow each other.
struct GroupRange {
  std::int64_t first;
  std::int64_t end;
  [[nodiscard]] std::int64_t count() const { return end - first; }
};

class FirstGroups {
 public:
  explicit FirstGroups(const QueryPlan& plan) : plan_(plan), groups_(plan) {}

  /// Keeps those that may be among the first; `place` has the place of each group, and these ascend.
  void add(const Groups& groups, GroupRange range, std::span<const std::uint64_t> place);
  /// Once there are twice as many as the limit says, drops the last half.
  void drop_some();
  /// Drops all past the limit. The others get the order of their places.
  void drop_past_limit();
  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] std::int64_t count() const { return std::ssize(place_); }

 private:
  const QueryPlan& plan_;
  Groups groups_;
  std::vector<std::uint64_t> place_;
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();  ///< no group from this place on is among the first
};

}  // namespace upsweep::query
