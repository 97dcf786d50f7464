// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/search.hpp: which values add up to a target, by any rung: halves, and halves of halves.
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

/// Where the rungs run, and what they cost there.
struct Solver {
  std::string_view rung;  ///< that is asked for; empty: none
  /// Throws Error where the rung that is asked for cannot run such a call.
  std::function<void(const detail::SubsetSumCall& call)> require;
  /// Runs one call: on the CPU, or on a GPU and waits for it. Throws Error.
  std::function<void(detail::SubsetSumCall& call, std::string_view rung)> run;
  WaysFor ways;       ///< for the first step
  WaysFor ways_left;  ///< for what is left after it
  /// What the rung that is asked for costs; null: that is not known.
  std::function<SubsetSumWay(const Question&)> cost = {};
};

/// A range of the whole work, as the progress reports it.
struct ProgressRange {
  double begin = 0;
  double end = 1;

  [[nodiscard]] ProgressRange between(double from, double to) const {
    return {begin + (end - begin) * from, begin + (end - begin) * to};
  }
};

/// The call that decides an instance.
detail::SubsetSumCall call_of(const Instance& instance);

/// By which a search goes, and where it reports its progress.
struct Search {
  const Solver& solver;
  const detail::SearchProgress& progress;
};

/// Whether one of the sums that the instance accepts is reached, and the nearest; by that rung, which may leave
/// checkpoints for find(). `shared`: null where this process searches alone.
detail::SubsetSumCall decide(const Search& search, const Instance& instance, bool early_stop, std::string_view rung,
                             ProgressRange range, Checkpoints& checkpoints,
                             const detail::SharedSearch* shared = nullptr);

/// Which values add up to a sum that a decision has found: of them chosen[i] becomes true. By the cheapest rungs for
/// what is left.
void find(const Search& search, const std::vector<std::int64_t>& values, const detail::SubsetSumCall& decided,
          ProgressRange range, std::vector<bool>& chosen);

/// Both at once where solutions are likely, in much less time than a whole search takes: the largest values are taken
/// until what is left can be made up of a few dozen values in many ways. True: found, by that rung, and chosen if
/// `witness`; false proves nothing. All attempts together may take so many seconds.
bool find_likely(const Search& search, const std::vector<std::int64_t>& values, std::int64_t target, double seconds,
                 bool witness, std::vector<bool>& chosen, std::string_view& rung);

}  // namespace upsweep::impl::subset_sum
