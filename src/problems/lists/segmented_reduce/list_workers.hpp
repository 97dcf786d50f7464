// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/list_workers.hpp: what all algorithms share: workers read batches of lists and set
// aside long lists.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/lists.hpp"
#include "cpu/list_batch.hpp"
#include "cpu/long_lists.hpp"
#include "cpu/tuning/lists.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/algorithms.hpp"

namespace upsweep::impl::segmented_reduce {

/// Number of blocks of long lists that a worker takes at a time: the number that the kernels process in SIMD lanes.
inline constexpr std::int64_t kBlocksAtOnce = cpu::tuning::kListFolds.blocks;

/// Lists at … at + count - 1 of a batch, or `count` blocks of a long list. The first is list number `first` of the
/// call.
struct SomeLists {
  cpu::ListBatch& batch;
  std::int64_t at;
  std::int64_t count;
  std::int64_t first;

  [[nodiscard]] std::int64_t* from() const { return batch.from.data() + at; }
  [[nodiscard]] std::int64_t* to() const { return batch.to.data() + at; }
};

/// One thread's state. An `Algorithm` is made from a Job and has these members:
/// - kSetsLongAside: whether lists of more than a block are folded block by block
/// - reduce(SomeLists): computes the results of these lists; returns the first overflow or kNoIndex
/// - finish(): called after the last list
///
/// If it sets long lists aside, it also has:
/// - total_size(): bytes of the total of a block
/// - fold_blocks(list, blocks, SomeLists, totals): computes the totals of these blocks, whose bounds are in the batch
/// - finish_long(list, totals): computes the result from the totals of all blocks; returns whether it fits
template <class Algorithm>
class Worker {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): bounds are written before they are read
  explicit Worker(const Job& job) : call_(job.call), kernels_(job.kernels), algorithm_(job) {}

  /// Reduces lists [lists.first, lists.last) except long ones, which it notes. Returns the first bad list or kNoIndex.
  std::int64_t run(cpu::WorkUnit lists) {
    for (std::int64_t first = lists.first; first < lists.last; first += cpu::ListBatch::kLists) {
      const std::int64_t count = std::min(cpu::ListBatch::kLists, lists.last - first);
      const std::int64_t bad = read(first, count);
      // The sum of a list before the bad list may overflow.
      const std::int64_t good = bad == kNoIndex ? count : bad - first;
      if (bad != kNoIndex && read(first, good) != kNoIndex) return bad;
      const std::int64_t overflow = algorithm_.reduce(SomeLists{batch_, 0, good, first});
      if (overflow != kNoIndex || bad != kNoIndex) return cpu::first_index(overflow, bad);
    }
    algorithm_.finish();
    return kNoIndex;
  }

  [[nodiscard]] const std::vector<cpu::LongList>& long_lists() const { return long_lists_; }
  [[nodiscard]] const Algorithm& algorithm() const { return algorithm_; }

  /// Computes the totals of at most kBlocksAtOnce blocks of a long list.
  void fold_blocks(const cpu::LongList& list, cpu::Range blocks, std::byte* totals) {
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      const cpu::Range elements = list.block(blocks.first + b);
      batch_.from[static_cast<std::size_t>(b)] = elements.first;
      batch_.to[static_cast<std::size_t>(b)] = elements.first + elements.count;
    }
    algorithm_.fold_blocks(list, blocks, SomeLists{batch_, 0, blocks.count, list.list}, totals);
  }

 private:
  /// Reads the bounds of a batch. Long lists are noted and become empty. Returns the first bad list or kNoIndex.
  std::int64_t read(std::int64_t first, std::int64_t count) {
    const std::int64_t bad = batch_.read(call_.lists, first, count, call_.n, kernels_);
    if (Algorithm::kSetsLongAside && bad == kNoIndex) cpu::set_long_aside(batch_, first, count, long_lists_);
    return bad;
  }

  const detail::SegmentedReduceCall& call_;
  const cpu::ListKernels& kernels_;
  cpu::ListBatch batch_;
  std::vector<cpu::LongList> long_lists_;
  Algorithm algorithm_;
};

/// Folds the lists that the workers have set aside: their blocks in any order, then the totals of the blocks in order.
/// Returns the first list whose sum overflows or kNoIndex.
template <class Algorithm>
std::int64_t fold_long_lists(std::span<Worker<Algorithm>* const> workers) {
  const cpu::LongLists lists(workers);
  const Algorithm& algorithm = workers.front()->algorithm();
  const auto carries = cpu::ceil_div(lists.blocks() * algorithm.total_size(), sizeof(detail::CarryBytes));
  // The memory has the alignment of any element type.
  const auto memory = std::make_unique_for_overwrite<detail::CarryBytes[]>(static_cast<std::size_t>(carries));
  const auto total = [&](std::int64_t block) {
    return reinterpret_cast<std::byte*>(memory.get()) + block * algorithm.total_size();
  };
  lists.for_each(workers, kBlocksAtOnce, [&](Worker<Algorithm>& worker, const cpu::LongList& list, cpu::Range blocks) {
    worker.fold_blocks(list, blocks, total(list.first_block + blocks.first));
  });
  std::int64_t bad = kNoIndex;
  for (const cpu::LongList& list : lists) {
    if (!algorithm.finish_long(list, total(list.first_block))) bad = cpu::first_index(bad, list.list);
  }
  return bad;
}

template <class Algorithm>
std::int64_t reduce_with(std::span<Worker<Algorithm>* const> workers, const WorkUnits& units) {
  cpu::LowestIndex first_bad;
  std::atomic<std::int64_t> ticket{0};
  cpu::run_allocating_workers(static_cast<int>(workers.size()), [&](int w) {
    for (;;) {
      const std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
      if (mine >= units.count) return;
      first_bad.add(workers[static_cast<std::size_t>(w)]->run(units.lists(mine)));
    }
  });
  if constexpr (Algorithm::kSetsLongAside) {
    const bool has_long = std::ranges::any_of(workers, [](const auto* one) { return !one->long_lists().empty(); });
    if (has_long) first_bad.add(fold_long_lists<Algorithm>(workers));
  }
  return first_bad.get();
}

/// Reduces all lists by an algorithm. Returns the first list that is bad or overflows, or kNoIndex. Throws
/// std::bad_alloc.
template <class Algorithm>
std::int64_t reduce_by(const Job& job) {
  if (job.workers == 1) {  // avoids a heap allocation, which would double the time of a small call
    Worker<Algorithm> only(job);
    Worker<Algorithm>* const alone = &only;
    return reduce_with<Algorithm>({&alone, 1}, job.units);
  }
  std::vector<std::unique_ptr<Worker<Algorithm>>> owned;
  std::vector<Worker<Algorithm>*> all;
  for (int w = 0; w < job.workers; ++w) {
    owned.push_back(std::make_unique<Worker<Algorithm>>(job));
    all.push_back(owned.back().get());
  }
  return reduce_with<Algorithm>(all, job.units);
}

}  // namespace upsweep::impl::segmented_reduce
