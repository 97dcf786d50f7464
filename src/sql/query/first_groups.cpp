// SPDX-License-Identifier: Apache-2.0
// sql/query/first_groups.cpp: keeps groups until there are twice the limit.
#include "sql/query/first_groups.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sql/expression/evaluate.hpp"
#include "sql/query/group_merge.hpp"

namespace upsweep::query {

void FirstGroups::add(const Groups& groups, GroupRange range, std::span<const std::uint64_t> place) {
  const auto begin = place.begin() + range.first;
  const auto end = std::lower_bound(begin, begin + std::min(range.count(), plan_.limit), end_);
  if (begin == end) return;
  std::vector<std::int64_t> fresh;
  merge(groups_, groups, range.first, range.first + (end - begin), fresh);
  place_.insert(place_.end(), begin, end);
}

void FirstGroups::drop_some() {
  if (count() / 2 >= plan_.limit && count() >= plan_.limit + kBlock) drop_past_limit();
}

void FirstGroups::drop_past_limit() {
  std::vector<std::int64_t> order(place_.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return place_[static_cast<std::size_t>(a)] < place_[static_cast<std::size_t>(b)];
  });
  if (std::ssize(order) >= plan_.limit) {
    order.resize(static_cast<std::size_t>(plan_.limit));
    end_ = order.empty() ? 0 : place_[static_cast<std::size_t>(order.back())];
  }
  Groups left(plan_);
  std::vector<std::uint64_t> left_place;
  std::vector<std::int64_t> fresh;
  for (const std::int64_t g : order) {
    merge(left, groups_, g, g + 1, fresh);
    left_place.push_back(place_[static_cast<std::size_t>(g)]);
  }
  groups_ = std::move(left);
  place_ = std::move(left_place);
}

}  // namespace upsweep::query
