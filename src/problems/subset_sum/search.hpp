// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/search.hpp: finds which values add up to a target, with any rung, by halves and halves of halves.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "problems/subset_sum/checkpoints.hpp"
#include "problems/subset_sum/plan.hpp"
#include "problems/subset_sum/reductions.hpp"
#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::impl::subset_sum {

using WaysFor = std::function<std::vector<SubsetSumWay>(const Question&)>;

/// The device on which the rungs run, and their costs there.
struct Solver {
  std::string_view rung;  ///< the requested rung; empty: none
  /// Throws Error if the requested rung cannot run such a call.
  std::function<void(const detail::SubsetSumCall& call)> require;
  /// Runs one call: on the CPU, or on a GPU and waits for it. Throws Error.
  std::function<void(detail::SubsetSumCall& call, std::string_view rung)> run;
  WaysFor ways;       ///< for the first step
  WaysFor ways_left;  ///< for the rest after the first step
  /// Returns the cost of the requested rung; null if it is not known.
  std::function<SubsetSumWay(const Question&)> cost = {};
};

/// A range of the whole work, for reporting the progress.
struct ProgressRange {
  double begin = 0;
  double end = 1;

  [[nodiscard]] ProgressRange between(double from, double to) const {
    return {begin + (end - begin) * from, begin + (end - begin) * to};
  }
};

/// Returns the call that decides an instance.
detail::SubsetSumCall call_of(const Instance& instance);

/// The solver of a search and its progress function.
struct Search {
  const Solver& solver;
  const detail::SearchProgress& progress;
};

/// Decides with the rung whether one of the sums that the instance accepts is reached, and finds the nearest one. The
/// rung may leave checkpoints for find(). `shared` is null if this process searches without others.
detail::SubsetSumCall decide(const Search& search, const Instance& instance, bool early_stop, std::string_view rung,
                             ProgressRange range, Checkpoints& checkpoints,
                             const detail::SharedSearch* shared = nullptr);

/// Finds which values add up to the sum that a decision has found, and sets their chosen[i] to true. The rest is
/// searched by the cheapest rungs.
void find(const Search& search, const std::vector<std::int64_t>& values, const detail::SubsetSumCall& decided,
          ProgressRange range, std::vector<bool>& chosen);

/// Decides and finds, if solutions are likely, in much less time than a whole search takes. The largest values are
/// taken until the rest can be made up of a few dozen values in many ways. Returns true if a solution was found; sets
/// `rung`, and `chosen` if `witness`. False proves nothing. All attempts together may take `seconds` seconds.
bool find_likely(const Search& search, const std::vector<std::int64_t>& values, std::int64_t target, double seconds,
                 bool witness, std::vector<bool>& chosen, std::string_view& rung);

}  // namespace upsweep::impl::subset_sum
