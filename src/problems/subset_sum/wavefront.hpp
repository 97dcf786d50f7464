// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/wavefront.hpp: adds several items to a bitmap of sums in one pass over it, in place, on all
// threads.
//
// Each thread has a work unit of the words. In it, item 1 moves from the top down, a block at a time. Every further
// item follows the items before it, at the distance that it reads below. The items before it have processed all words
// that it reads, and these words are still in cache. Below its first word, a work unit reads words of the adjacent work
// unit. They are copied before that work unit advances (the halo), and are advanced in the copy once more. If every sum
// of a tile is reached, nothing can be added. The tile is skipped from then on, and work units are equal shares of the
// remaining words.
//
// As long as nothing fills up, threads execute several passes in one region. Before a pass they wait only for the
// adjacent threads, by two counts per work unit.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cpu/bit_kernels.hpp"
#include "problems/subset_sum/bitmap.hpp"
#include "problems/subset_sum/open_runs.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::subset_sum {

class Wavefront {
 public:
  /// At most items_of_pass() items (each > 0), for the words low … top - 1; words below are only read.
  struct Pass {
    const std::int64_t* items;
    std::int64_t count;
    std::int64_t low;
    std::int64_t top;
  };

  /// For a bitmap of `words` words and items up to `largest`.
  Wavefront(Word* sums, std::int64_t words, std::int64_t largest, Isa isa, int threads);

  /// Returns how many of the items one pass over `words` words adds: at least one. It is the same for any number of
  /// threads.
  [[nodiscard]] std::int64_t items_of_pass(const std::int64_t* items, std::int64_t n, std::int64_t words) const;
  /// Returns whether one call of run() should also execute `next` after these passes.
  [[nodiscard]] bool goes_with(const std::vector<Pass>& passes, const Pass& next) const;
  /// Executes the passes one after the other.
  void run(const std::vector<Pass>& passes);

  // The steps of run(), for threads of any kind: begin, reserve, share, work, end. One thread per work unit calls
  // work(), all at the same time, each with a separate worker id.

  /// Returns the number of work units for these passes: at least one, at most `most`.
  int begin(const std::vector<Pass>& passes, int most);
  /// Allocates memory for `work_units` work units. Throws std::bad_alloc.
  void reserve(int work_units);
  /// Divides the open words into work units, at most the number that was reserved.
  void share(int work_units) noexcept;
  void work(int id) noexcept;
  void end();

 private:
  struct WorkUnit {
    std::int64_t first = 0;
    std::int64_t last = 0;
    cpu::Pages<Word> halo;
    Word* copies = nullptr;                          // copies[w] is word w below `first`; null: no copies are needed
    bool fills = false;                              // whether one of its tiles is newly full
    alignas(64) std::atomic<std::int64_t> copied;    // number of passes whose halo is copied
    alignas(64) std::atomic<std::int64_t> advanced;  // number of passes done
  };

  void copy_halo(const WorkUnit& work_unit, const Pass& pass) const;
  void advance(WorkUnit& work_unit, const Pass& pass);
  void shift_or(const WorkUnit& work_unit, std::int64_t item, std::int64_t first, std::int64_t last) const;
  void look_for_full(WorkUnit& work_unit, std::int64_t first, std::int64_t last);

  Word* sums_;
  const cpu::BitKernels& kernels_;
  std::int64_t longest_halo_;
  OpenRuns open_;                      // as of the beginning of a region
  std::vector<std::uint8_t> is_full_;  // tiles in which every sum is reached
  bool fills_ = false;                 // whether a tile became full in the last region
  std::vector<WorkUnit> work_units_;   // one per thread

  // The state of a region:
  std::vector<Pass> passes_;
  std::int64_t low_ = 0;
  std::int64_t top_ = 0;
  std::int64_t halo_ = 0;  // maximum number of words that a work unit reads below its own
  std::int64_t open_words_ = 0;
  int workers_ = 1;
};

}  // namespace upsweep::impl::subset_sum
