// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/open_runs.hpp: the words of a bitmap that may still change, as runs of tiles that are not full.
//
// This is a list of runs, not a flag per tile. With a thousand random items up to 10^7 and sums up to 10^9, all tiles
// except two short runs at the ends are soon full. Testing each of 15,000 tiles for every item took half of the time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace upsweep::impl::subset_sum {

/// Number of words of a tile, which is skipped once all of its sums are reached. 8 KB: there are few tiles to check,
/// and few words are shifted in vain at a border.
inline constexpr std::int64_t kTile = 1024;

class OpenRuns {
 public:
  /// All words of a bitmap are open.
  explicit OpenRuns(std::int64_t words) : runs_{{0, words}} {}

  /// Calls do_run(begin, end) for each range of open words among first … last - 1, from the top down.
  template <class DoRun>
  void for_each_down(std::int64_t first, std::int64_t last, DoRun do_run) const {
    for (auto run = begin_from(last); run != runs_.begin();) {
      --run;
      const std::int64_t begin = std::max(run->first, first);
      const std::int64_t end = std::min(run->last, last);
      if (begin >= end) return;
      do_run(begin, end);
    }
  }

  /// Returns the end of the topmost open word below `last`, or 0 if there is none.
  [[nodiscard]] std::int64_t end_below(std::int64_t last) const {
    const auto past = begin_from(last);
    return past == runs_.begin() ? 0 : std::min(std::prev(past)->last, last);
  }

  /// Returns the number of open words among first … last - 1.
  [[nodiscard]] std::int64_t count(std::int64_t first, std::int64_t last) const {
    std::int64_t words = 0;
    for_each_down(first, last, [&](std::int64_t begin, std::int64_t end) { words += end - begin; });
    return words;
  }

  /// Removes the tiles for which is_full(tile) is true. Tiles are counted from word 0; tiles at the ends of a run may
  /// be partial.
  template <class IsFull>
  void remove(IsFull is_full) {
    std::vector<Run> left;
    for (const Run& run : runs_) {
      for (std::int64_t first = run.first; first < run.last;) {
        const std::int64_t tile = first / kTile;
        const std::int64_t last = std::min((tile + 1) * kTile, run.last);
        if (!is_full(tile)) {
          const bool goes_on = !left.empty() && left.back().last == first;
          if (!goes_on) left.push_back({first, first});
          left.back().last = last;
        }
        first = last;
      }
    }
    runs_ = std::move(left);
  }

 private:
  struct Run {
    std::int64_t first;
    std::int64_t last;
  };

  /// Returns the lowest run that begins at or after `word`.
  [[nodiscard]] std::vector<Run>::const_iterator begin_from(std::int64_t word) const {
    return std::partition_point(runs_.begin(), runs_.end(), [&](const Run& run) { return run.first < word; });
  }

  std::vector<Run> runs_;  // in ascending order, not adjacent, not empty
};

}  // namespace upsweep::impl::subset_sum
