// SPDX-License-Identifier: Apache-2.0
// subset_sum/search.hpp: which values add up to a target, by any rung: halves, and halves of halves.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::subset_sum {

/// Runs one call: on the CPU, or on a GPU and waits for it. Throws Error.
using RunCall = std::function<void(detail::SubsetSumCall& call, std::string_view rung)>;

/// The rung for so many values and a target where none is named.
using ChooseRung = std::function<std::string_view(const std::vector<std::int64_t>& values, std::int64_t target)>;

/// A part of the whole work, as the progress tells it.
struct Part {
  double begin = 0;
  double end = 1;

  [[nodiscard]] Part piece(double from, double to) const {
    return {begin + (end - begin) * from, begin + (end - begin) * to};
  }
};

class Search {
 public:
  Search(RunCall run, ChooseRung choose, const detail::SearchProgress& progress)
      : run_(std::move(run)), choose_(std::move(choose)), progress_(progress) {}

  /// Whether one of the sums in target - below … target + above is reached, and the nearest; by that rung.
  detail::SubsetSumCall decide(const std::vector<std::int64_t>& values, std::int64_t target, std::int64_t below,
                               std::int64_t above, bool early_stop, std::string_view rung, Part part);

  /// Which values add up to a sum that a decision has found: of them chosen[i] becomes true. By the cheapest rungs for
  /// what is left.
  void find(const std::vector<std::int64_t>& values, const detail::SubsetSumCall& decided, Part part,
            std::vector<bool>& chosen);
  /// Both where many solutions are likely, in much less time: of the largest values, a few more than reach the target,
  /// those are looked for that are too many, which add up to little. True: found, and chosen if `witness`; false says
  /// nothing. Each attempt takes up to that share of the time that the whole search would.
  bool find_around(const std::vector<std::int64_t>& values, std::int64_t target, std::string_view rung, double share,
                   bool witness, std::vector<bool>& chosen);

 private:
  /// Some values with their places in the whole.
  struct Values {
    std::vector<std::int64_t> values;
    std::vector<std::size_t> places;

    [[nodiscard]] Values share(std::size_t first, std::size_t last) const;
  };
  void toggle(Values values, std::int64_t target, Part part, std::vector<bool>& chosen);
  std::int64_t split(const Values& values, std::int64_t target, Part part, std::size_t& left_count);
  std::int64_t split_by_bitmaps(const Values& values, std::int64_t target, std::string_view rung, Part part,
                                std::size_t left_count);

  RunCall run_;
  ChooseRung choose_;
  const detail::SearchProgress& progress_;
};

}  // namespace upsweep::subset_sum
