// SPDX-License-Identifier: Apache-2.0
// subset_sum/search.hpp: which values add up to a target, by any rung: halves, and halves of halves.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "cpu/pages.hpp"
#include "subset_sum/checkpoints.hpp"
#include "subset_sum/reductions.hpp"
#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::subset_sum {

/// Runs one call: on the CPU, or on a GPU and waits for it. Throws Error.
using RunCall = std::function<void(detail::SubsetSumCall& call, std::string_view rung)>;

/// The way for some values and a target where no rung is named.
using ChooseWay = std::function<SubsetSumWay(const std::vector<std::int64_t>& values, std::int64_t target)>;

/// A part of the whole work, as the progress reports it.
struct Part {
  double begin = 0;
  double end = 1;

  [[nodiscard]] Part piece(double from, double to) const {
    return {begin + (end - begin) * from, begin + (end - begin) * to};
  }
};

/// The call that decides an instance.
detail::SubsetSumCall call_of(const Instance& instance);

class Search {
 public:
  Search(RunCall run, ChooseWay choose, const detail::SearchProgress& progress)
      : run_(std::move(run)), choose_(std::move(choose)), progress_(progress) {}

  /// Whether one of the sums that the instance accepts is reached, and the nearest; by that rung, which may leave
  /// checkpoints for find().
  detail::SubsetSumCall decide(const Instance& instance, bool early_stop, std::string_view rung, Part part,
                               Checkpoints& checkpoints);

  /// Which values add up to a sum that a decision has found: of them chosen[i] becomes true. By the cheapest rungs for
  /// what is left.
  void find(const std::vector<std::int64_t>& values, const detail::SubsetSumCall& decided, Part part,
            std::vector<bool>& chosen);
  /// Both at once where solutions are likely, in much less time than a whole search takes: the largest values are taken
  /// until what is left can be made up of a few dozen values in many ways. True: found, by that rung, and chosen if
  /// `witness`; false proves nothing. All attempts together may take so many seconds.
  bool find_likely(const std::vector<std::int64_t>& values, std::int64_t target, double seconds, bool witness,
                   std::vector<bool>& chosen, std::string_view& rung);

 private:
  /// Some values with their places in the whole.
  struct Values {
    std::vector<std::int64_t> values;
    std::vector<std::size_t> places;

    [[nodiscard]] Values share(std::size_t first, std::size_t last) const;
  };
  /// The sums 0 … most.
  struct Bitmap {
    std::int64_t most;
    cpu::Pages<Word> bits;
  };
  /// Values of which some are taken, and some stay open to make up the rest.
  struct Likely {
    Values open;
    std::vector<std::size_t> taken;
    std::int64_t rest = 0;
    std::int64_t half = 0;  ///< of the sum of the open ones
  };
  void find(const Values& all, const detail::SubsetSumCall& decided, Part part, std::vector<bool>& chosen);
  static Likely likely(const std::vector<std::int64_t>& values, std::int64_t target, std::int64_t count);
  detail::SubsetSumCall decide(const std::vector<std::int64_t>& values, std::int64_t target, std::string_view rung,
                               Part part);
  void run_telling(detail::SubsetSumCall& call, std::string_view rung, Part part);
  void toggle(Values values, std::int64_t target, Part part, std::vector<bool>& chosen);
  std::int64_t split(const Values& values, std::int64_t target, Part part, std::size_t& left_count);
  std::int64_t sum_before(const Checkpoint& before, const std::vector<std::int64_t>& later, std::int64_t target,
                          Part part);
  Bitmap fill(const std::int64_t* values, std::int64_t n, std::int64_t target, std::string_view rung, Part part);
  std::int64_t split_by_bitmaps(const Values& values, std::int64_t target, std::string_view rung, Part part,
                                std::size_t left_count);

  RunCall run_;
  ChooseWay choose_;
  const detail::SearchProgress& progress_;
};

}  // namespace upsweep::subset_sum
