// SPDX-License-Identifier: Apache-2.0
// cpu/long_lists.hpp: lists longer than a block: workers set them aside, and all workers then process their blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <vector>

#include "cpu/list_batch.hpp"
#include "cpu/list_values.hpp"
#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::cpu {

struct LongList {
  std::int64_t list;
  std::int64_t start;
  std::int64_t stop;
  std::int64_t first_block = 0;  ///< number of blocks of the long lists before it

  [[nodiscard]] std::int64_t blocks() const { return ceil_div(stop - start, kListBlock); }
  /// Returns the elements of its block b.
  [[nodiscard]] Range block(std::int64_t b) const {
    const Range within = block_of(stop - start, kListBlock, b);
    return {start + within.first, within.count};
  }
};

/// Adds the long lists of a batch of `count` lists to `aside`, and makes them empty in the batch. The first list of the
/// batch has number `first`.
inline void set_long_aside(ListBatch& batch, std::int64_t first, std::int64_t count, std::vector<LongList>& aside) {
  if (batch.longest <= kListBlock) return;
  for (std::int64_t i = 0; i < count; ++i) {
    auto& from = batch.from[static_cast<std::size_t>(i)];
    auto& to = batch.to[static_cast<std::size_t>(i)];
    if (to - from <= kListBlock) continue;
    aside.push_back({first + i, from, to});
    from = to = 0;
  }
  batch.longest = kListBlock;
  batch.shortest = 0;
}

/// The lists that all workers have set aside.
class LongLists {
 public:
  /// `workers` is a range of pointers.
  template <class Workers>
  explicit LongLists(const Workers& workers) {
    for (const auto& worker : workers) {
      lists_.insert(lists_.end(), worker->long_lists().begin(), worker->long_lists().end());
    }
    for (LongList& list : lists_) {
      list.first_block = blocks_;
      blocks_ += list.blocks();
    }
  }

  [[nodiscard]] auto begin() const { return lists_.begin(); }
  [[nodiscard]] auto end() const { return lists_.end(); }
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }

  /// Calls work(worker, list, blocks of it) until all blocks are processed. A worker takes `each` blocks at a time.
  template <class Workers, class Work>
  void for_each(const Workers& workers, std::int64_t each, Work work) const {
    if (blocks_ == 0) return;
    std::atomic<std::int64_t> ticket{0};
    const std::int64_t tickets = ceil_div(blocks_, each);
    run_workers(static_cast<int>(std::min<std::int64_t>(std::ssize(workers), tickets)), [&](int w) {
      for (;;) {
        const std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
        if (mine >= tickets) return;
        visit(block_of(blocks_, each, mine),
              [&](const LongList& list, Range blocks) { work(*workers[static_cast<std::size_t>(w)], list, blocks); });
      }
    });
  }

 private:
  /// Visits blocks of one list or of several, list by list.
  template <class Visit>
  void visit(Range blocks, Visit visit_list) const {
    auto list = std::upper_bound(lists_.begin(), lists_.end(), blocks.first,
                                 [](std::int64_t block, const LongList& one) { return block < one.first_block; }) -
                1;
    const std::int64_t end = blocks.first + blocks.count;
    for (std::int64_t block = blocks.first; block < end; ++list) {
      const std::int64_t count = std::min(end, list->first_block + list->blocks()) - block;
      visit_list(*list, {block - list->first_block, count});
      block += count;
    }
  }

  std::vector<LongList> lists_;
  std::int64_t blocks_ = 0;
};

}  // namespace upsweep::cpu
