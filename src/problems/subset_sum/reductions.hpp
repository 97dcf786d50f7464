// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/reductions.hpp: makes an instance smaller before the search, and converts its answer back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "upsweep/subset_sum.hpp"

namespace upsweep::impl::subset_sum {

/// The remaining search: which of `values` add up to a sum in target - below … target + above.
class Instance {
 public:
  /// Throws not_positive, overflow and invalid_argument: see subset_sum.hpp.
  Instance(const std::int64_t* items, std::int64_t n, std::int64_t target, const SubsetSumOptions& options);

  std::vector<std::int64_t> values;  ///< ascending; a value may represent several equal items
  std::int64_t target = 0;
  std::int64_t below = 0;
  std::int64_t above = 0;
  bool upper_first = false;  ///< which of two equally near sums is preferred
  std::int64_t divisor = 1;
  bool complement = false;  ///< the program searches for the items to leave out
  bool impossible = false;  ///< no sum is accepted
  std::vector<std::string> steps;

  [[nodiscard]] bool exact() const { return below == 0 && above == 0; }
  /// Returns whether nothing is left to search: the instance is impossible, or no item is needed.
  [[nodiscard]] bool is_decided() const { return impossible || (exact() && target == 0) || values.empty(); }
  /// Returns the sum of the items that a sum of values represents.
  [[nodiscard]] std::int64_t sum_of(std::int64_t sum) const;
  /// Returns the ascending positions of the items in the answer, given which values are chosen.
  [[nodiscard]] std::vector<std::int64_t> positions(const std::vector<bool>& chosen) const;

 private:
  struct Item {
    std::int64_t value;
    std::int64_t position;
  };
  /// A value: an item, or two values that are always chosen together.
  struct Node {
    std::int64_t value;
    std::int64_t first;   // an item's position, or the first value's index in nodes_
    std::int64_t second;  // -1: an item
  };

  [[nodiscard]] std::int64_t limit() const { return target + above; }
  void leave_out_large(std::vector<Item>& items);
  bool turn_around();
  void divide(std::vector<Item>& items);
  void divide_target(std::int64_t common);
  void join_equal(const std::vector<Item>& items);
  void keep(const std::vector<Item>& items);
  void add_positions(std::int64_t node, std::vector<std::int64_t>& all) const;

  std::vector<std::int64_t> kept_;   // positions of items that are in every answer
  std::vector<std::int64_t> spare_;  // equal items, too many for all to be chosen: in the answer if complement
  std::vector<Node> nodes_;
  std::vector<std::int64_t> node_of_value_;
  std::int64_t kept_sum_ = 0;
  std::int64_t active_sum_ = 0;  // sum of the items in the search, before division
};

}  // namespace upsweep::impl::subset_sum
