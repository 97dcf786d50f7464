// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/reductions.cpp: leaves out items that are too large, searches for the complement, divides, and
// joins equal items.
#include "problems/subset_sum/reductions.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "problems/subset_sum/ladder.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::subset_sum {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void require(bool good, const std::string& message) {
  if (!good) throw Error(Code::invalid_argument, message);
}

/// Returns "1 item is", "3 items are".
std::string items_are(std::int64_t count) { return std::to_string(count) + (count == 1 ? " item is" : " items are"); }

}  // namespace

Instance::Instance(const std::int64_t* items, std::int64_t n, std::int64_t wanted, const SubsetSumOptions& options)
    : target(wanted), below(options.below), above(options.above) {
  detail::require_array(items, n, "items");
  require(target >= 0, "the target must be at least 0, not " + std::to_string(target));
  require(below >= 0 && above >= 0, "below and above must be at least 0");
  require_positive(items, n);
  below = std::min(below, target);
  above = std::min(above, kMost - target);

  std::vector<Item> active;
  active.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    if (items[i] > limit()) continue;
    if (__builtin_add_overflow(active_sum_, items[i], &active_sum_)) {
      throw Error(Code::overflow,
                  "the items up to the target add up to more than 2^63-1 = " + std::to_string(kMost) +
                      ", the limit: item " + std::to_string(i) + " exceeds it",
                  i);
    }
    active.push_back({items[i], i});
  }
  if (const auto left = n - std::ssize(active); left > 0) {
    steps.push_back(items_are(left) + " larger than any accepted sum: left out");
  }
  impossible = target - below > active_sum_;
  if (impossible) {
    steps.emplace_back("all items together are less than any accepted sum");
    return;
  }
  // If the target exceeds the sum of all items, the nearest sum to it is the nearest to their sum.
  if (target > active_sum_) {
    below -= target - active_sum_;
    target = active_sum_;
  }
  above = std::min(above, active_sum_ - target);
  // The sum of all items, or of none, is the target itself: no other sum is nearer.
  if (target == active_sum_ || target == 0) below = above = 0;
  std::sort(active.begin(), active.end(), [](const Item& a, const Item& b) {
    return a.value != b.value ? a.value < b.value : a.position < b.position;
  });
  if (!options.reduce) {
    keep(active);
    return;
  }
  while (turn_around()) leave_out_large(active);
  if (impossible) return;
  divide(active);
  if (!impossible) join_equal(active);
}

/// Switches the search between the items to take and the items to leave out, if the other items add up to less. This is
/// done only for one exact sum. With a tolerance, the lower of two equally near sums would become the upper one.
bool Instance::turn_around() {
  impossible = target - below > active_sum_;
  if (impossible || !exact() || active_sum_ - target >= target) return false;
  target = active_sum_ - target;
  complement = !complement;
  steps.push_back((complement ? "the program searches for the items to omit, not the items to take: their sum is "
                              : "the program searches again for the items to take: their sum is ") +
                  std::to_string(target));
  return true;
}

void Instance::leave_out_large(std::vector<Item>& items) {
  const auto large =
      std::partition_point(items.begin(), items.end(), [&](const Item& i) { return i.value <= limit(); });
  const auto count = items.end() - large;
  if (count == 0) return;
  for (auto item = large; item != items.end(); ++item) {
    active_sum_ -= item->value;
    if (!complement) continue;
    kept_.push_back(item->position);  // it is too large to be left out
    kept_sum_ += item->value;
  }
  items.erase(large, items.end());
  steps.push_back(items_are(count) + " larger than that" + (complement ? " and must be taken" : ": left out"));
}

void Instance::divide(std::vector<Item>& items) {
  std::int64_t common = 0;
  for (const Item& item : items) {
    common = std::gcd(common, item.value);
    if (common == 1) return;
  }
  if (common <= 1) return;
  divisor = common;
  divide_target(common);
  steps.emplace_back("all are multiples of " + std::to_string(common) + (impossible ? ", no accepted sum is" : ""));
  for (Item& item : items) item.value /= common;
}

/// Divides the target: finds the multiple of the divisor that is nearest to the target. If two multiples are equally
/// far from that one, upper_first tells which is nearer to the target itself. With the target r above a multiple, the
/// lower one is nearer if r is less than half of the divisor.
void Instance::divide_target(std::int64_t common) {
  const std::int64_t low = (target - below) / common + ((target - below) % common != 0 ? 1 : 0);
  const std::int64_t high = (target + above) / common;
  impossible = low > high;
  if (impossible) return;
  const std::int64_t over = target % common;
  const bool rounds_up = over > common - over;
  upper_first = upper_first || (over > 0 && !rounds_up);
  target = std::clamp(target / common + (rounds_up ? 1 : 0), low, high);
  below = target - low;
  above = high - target;
}

void Instance::keep(const std::vector<Item>& items) {
  for (const Item& item : items) {
    node_of_value_.push_back(std::ssize(nodes_));
    nodes_.push_back({item.value, item.position, -1});
    values.push_back(item.value);
  }
}

/// Joins three or more equal values: all except one or two become pairs, which are new values. A value then occurs at
/// most twice. So there are at most about 2·sqrt(2·limit) values, and every choice is still possible.
void Instance::join_equal(const std::vector<Item>& items) {
  const auto occurs_thrice = [&] {
    for (std::size_t i = 2; i < items.size(); ++i) {
      if (items[i].value == items[i - 2].value) return true;
    }
    return false;
  };
  if (!occurs_thrice()) return keep(items);
  std::map<std::int64_t, std::vector<std::int64_t>> nodes;  // by value
  for (const Item& item : items) {
    nodes[item.value].push_back(std::ssize(nodes_));
    nodes_.push_back({item.value, item.position, -1});
  }
  for (auto at = nodes.begin(); at != nodes.end(); ++at) {
    auto& equal = at->second;
    const std::int64_t value = at->first;
    while (std::ssize(equal) > limit() / value) {
      add_positions(equal.back(), spare_);
      equal.pop_back();
    }
    const std::size_t stay = equal.size() % 2 == 0 ? 2 : 1;
    for (std::size_t i = stay; i + 1 < equal.size(); i += 2) {
      nodes[2 * value].push_back(std::ssize(nodes_));
      nodes_.push_back({2 * value, equal[i], equal[i + 1]});
    }
    for (std::size_t i = 0; i < std::min(stay, equal.size()); ++i) {
      node_of_value_.push_back(equal[i]);
      values.push_back(value);
    }
  }
  steps.emplace_back("equal items are joined: " + std::to_string(items.size()) + " become " +
                     std::to_string(values.size()));
}

void Instance::add_positions(std::int64_t node, std::vector<std::int64_t>& all) const {
  const Node& value = nodes_[static_cast<std::size_t>(node)];
  if (value.second < 0) {
    all.push_back(value.first);
    return;
  }
  add_positions(value.first, all);
  add_positions(value.second, all);
}

std::int64_t Instance::sum_of(std::int64_t sum) const {
  return kept_sum_ + (complement ? active_sum_ - sum * divisor : sum * divisor);
}

std::vector<std::int64_t> Instance::positions(const std::vector<bool>& chosen) const {
  std::vector<std::int64_t> all = kept_;
  if (complement) all.insert(all.end(), spare_.begin(), spare_.end());
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (chosen[v] != complement) add_positions(node_of_value_[v], all);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace upsweep::impl::subset_sum
