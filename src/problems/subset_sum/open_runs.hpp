// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/open_runs.hpp: which words of a bitmap may still change, as runs of tiles that are not full.
//
// A list of runs and no flag per tile to be asked: of a thousand random items up to 10^7 and sums up to 10^9 all but two
// short runs at the ends are soon full, and asking each of 15,000 tiles for every item took half of the time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace upsweep::impl::subset_sum {

/// Words of a tile, which is skipped once all of its sums are reached: 8 KB, so that there are few to check and few words
/// are moved in vain around a border.
inline constexpr std::int64_t kTile = 1024;

class OpenRuns {
 public:
  /// All words of a bitmap.
  explicit OpenRuns(std::int64_t words) : runs_{{0, words}} {}

  /// do_run(begin, end) for each range of open words among first … last - 1, from the top down.
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

  /// The end of the topmost open word below `last`; 0: there is none.
  [[nodiscard]] std::int64_t end_below(std::int64_t last) const {
    const auto past = begin_from(last);
    return past == runs_.begin() ? 0 : std::min(std::prev(past)->last, last);
  }

  /// How many of the words first … last - 1 are open.
  [[nodiscard]] std::int64_t count(std::int64_t first, std::int64_t last) const {
    std::int64_t words = 0;
    for_each_down(first, last, [&](std::int64_t begin, std::int64_t end) { words += end - begin; });
    return words;
  }

  /// Takes out the tiles for which is_full(tile). Tiles are counted from word 0; those at the ends of a run may be
  /// partial.
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

  /// The lowest run that begins at `word` or past it.
  [[nodiscard]] std::vector<Run>::const_iterator begin_from(std::int64_t word) const {
    return std::partition_point(runs_.begin(), runs_.end(), [&](const Run& run) { return run.first < word; });
  }

  std::vector<Run> runs_;  // in ascending order, apart from each other, none empty
};

}  // namespace upsweep::impl::subset_sum
