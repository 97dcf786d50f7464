// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/wavefront.hpp: several items added to a bitmap of sums in one pass over it, in place, by every thread.
//
// Each thread has a work unit of the words. In it item 1 goes from the top down, a block at a time, and every further
// item follows those before it at the distance that it reads below: what it reads, they have done, and it is still in
// cache. What a work unit reads below its own first word is its neighbour's: copied before the neighbour goes on (its
// halo), and advanced there once more. Where every sum of a tile is reached, nothing can be added: it is skipped from
// then on, and work units are equal shares of what is left.
//
// As long as nothing fills up, threads do several passes in one region: before a pass they wait for their neighbours
// only, by two counts per work unit.
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
  /// Items (each > 0), at most items_of_pass(), for the words low … top - 1; those below are read only.
  struct Pass {
    const std::int64_t* items;
    std::int64_t count;
    std::int64_t low;
    std::int64_t top;
  };

  /// For a bitmap of so many words and items up to `largest`.
  Wavefront(Word* sums, std::int64_t words, std::int64_t largest, Isa isa, int threads);

  /// How many of the items one pass over so many words takes: at least one. The same for any number of threads.
  [[nodiscard]] std::int64_t items_of_pass(const std::int64_t* items, std::int64_t n, std::int64_t words) const;
  /// Whether one call of run() had better do `next` as well, after these.
  [[nodiscard]] bool goes_with(const std::vector<Pass>& passes, const Pass& next) const;
  /// Does the passes, one after the other.
  void run(const std::vector<Pass>& passes);

  // What run() consists of, for threads of any kind: begin, reserve, share, work by so many threads at the same time, each
  // with a worker id of its own, end.

  /// Returns how many work units there can be for these passes, `most` at most: at least one.
  int begin(const std::vector<Pass>& passes, int most);
  /// Memory for so many work units. Throws std::bad_alloc.
  void reserve(int work_units);
  /// Divides the open words into work units, at most as many as were reserved.
  void share(int work_units) noexcept;
  void work(int id) noexcept;
  void end();

 private:
  struct WorkUnit {
    std::int64_t first = 0;
    std::int64_t last = 0;
    cpu::Pages<Word> halo;
    Word* copies = nullptr;                        // copies[w] is word w, of those below `first`; null: none are needed
    bool fills = false;                            // a tile of it is newly full
    alignas(64) std::atomic<std::int64_t> copied;  // passes for which the halo is copied
    alignas(64) std::atomic<std::int64_t> advanced;  // passes done
  };

  void copy_halo(const WorkUnit& work_unit, const Pass& pass) const;
  void advance(WorkUnit& work_unit, const Pass& pass);
  void shift_or(const WorkUnit& work_unit, std::int64_t item, std::int64_t first, std::int64_t last) const;
  void look_for_full(WorkUnit& work_unit, std::int64_t first, std::int64_t last);

  Word* sums_;
  const cpu::BitKernels& kernels_;
  std::int64_t longest_halo_;
  OpenRuns open_;                      // as of the beginning of a region
  std::vector<std::uint8_t> is_full_;  // tiles of which every sum is reached
  bool fills_ = false;                 // a tile became full in the last region
  std::vector<WorkUnit> work_units_;   // one per thread

  // Of a region:
  std::vector<Pass> passes_;
  std::int64_t low_ = 0;
  std::int64_t top_ = 0;
  std::int64_t halo_ = 0;  // words, at most, that a work unit reads below its own
  std::int64_t open_words_ = 0;
  int workers_ = 1;
};

}  // namespace upsweep::impl::subset_sum
