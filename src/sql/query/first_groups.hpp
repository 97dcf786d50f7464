// SPDX-License-Identifier: Apache-2.0
// sql/query/first_groups.hpp: LIMIT without ORDER BY: the groups with the first places, of groups that arrive in any
// order.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Consecutive groups.
struct GroupRange {
  std::int64_t first;
  std::int64_t end;
  [[nodiscard]] std::int64_t count() const { return end - first; }
};

class FirstGroups {
 public:
  explicit FirstGroups(const QueryPlan& plan) : plan_(plan), groups_(plan) {}

  /// Keeps the groups that may be among the first. `place` has the place of each group; the places ascend.
  void add(const Groups& groups, GroupRange range, std::span<const std::uint64_t> place);
  /// Drops the last half once there are twice the limit.
  void drop_some();
  /// Drops all groups past the limit, and sorts the others by their places.
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
