// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/nearest.hpp: the best sum that a rung has found so far, for rungs that compare sums one by one.
#pragma once

#include <cstdint>
#include <limits>

#include "upsweep/detail/subset_sum_call.hpp"

namespace upsweep::impl::subset_sum {

/// A sum of nonnegative 64-bit items: no two of them add up to 2^64 or more.
using Sum = std::uint64_t;

/// The nearest sum to the target so far. If two sums are equally near, it is the lower one or the upper one. If sums
/// are equal, it is the one with the smallest value on the left.
class Nearest {
 public:
  explicit Nearest(const detail::SubsetSumCall& call)
      : target_(static_cast<Sum>(call.target)),
        least_(target_ - static_cast<Sum>(call.below)),
        most_(target_ + static_cast<Sum>(call.above)),
        upper_first_(call.upper_first) {}

  /// Adds a sum. `left` is the part of it that the items on the left make up.
  void meet(Sum sum, Sum left) {
    if (sum < least_ || sum > most_) return;
    const Sum distance = sum > target_ ? sum - target_ : target_ - sum;
    const bool nearer = distance < distance_ || (distance == distance_ && (upper_first_ ? sum > sum_ : sum < sum_));
    if (!nearer && !(sum == sum_ && left < left_)) return;
    distance_ = distance;
    sum_ = sum;
    left_ = left;
  }
  void meet(const Nearest& other) {
    if (other.found()) meet(other.sum_, other.left_);
  }
  [[nodiscard]] bool found() const { return distance_ != kNone; }
  [[nodiscard]] bool exact() const { return distance_ == 0; }

  void write_to(detail::SubsetSumCall& call, std::int64_t left_items) const {
    call.reachable = found();
    call.sum = static_cast<std::int64_t>(sum_);
    call.left_items = left_items;
    call.left_sum = static_cast<std::int64_t>(left_);
  }

 private:
  static constexpr Sum kNone = std::numeric_limits<Sum>::max();
  Sum target_;
  Sum least_;
  Sum most_;
  bool upper_first_;
  Sum distance_ = kNone;
  Sum sum_ = 0;
  Sum left_ = 0;
};

}  // namespace upsweep::impl::subset_sum
