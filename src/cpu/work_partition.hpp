// SPDX-License-Identifier: Apache-2.0
// cpu/work_partition.hpp: how calls are divided among workers: blocks of a fixed length, and work units of equal work.
//
// Block      a range of fixed length. The order of float folds depends on the length of blocks, never on threads.
// Work unit  an equal share of the work, of any length. Work on lists is measured along the merge path: their elements
//            and their ends. Each list has a cost. So a work unit may begin and end inside a list.
// From       merge path: Merrill and Garland, "Merge-based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/error.hpp"

namespace upsweep::cpu {

/// A range of elements or lists.
struct Range {
  std::int64_t first;
  std::int64_t count;
};

constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t length) { return (n + length - 1) / length; }

/// Returns the smaller of two indices; kNoIndex represents none.
constexpr std::int64_t first_index(std::int64_t a, std::int64_t b) {
  return a == kNoIndex ? b : (b == kNoIndex ? a : std::min(a, b));
}

/// The lowest index that any thread adds; kNoIndex represents none. Read it when the threads are done.
class LowestIndex {
 public:
  void add(std::int64_t index) {
    std::int64_t known = lowest_.load(std::memory_order_relaxed);
    while (first_index(known, index) != known &&
           !lowest_.compare_exchange_weak(known, index, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::int64_t get() const { return lowest_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> lowest_{kNoIndex};
};

// ---- Blocks.

/// Bytes of a block, of its input or its output, whichever is larger.
inline constexpr std::int64_t kBlockBytes = tuning::kBlocksOrder.block_bytes;

/// Returns block number `index` of `n` elements in blocks of `length`.
constexpr Range block_of(std::int64_t n, std::int64_t length, std::int64_t index) {
  return {index * length, std::min(length, n - index * length)};
}

/// Waking a thread takes about as long as processing four blocks on a core, so a worker has at least four blocks.
inline int block_workers(std::int64_t blocks, int threads) { return workers_for(blocks, 4, threads); }

/// Runs work(range) on every block, in any order on any worker. A worker that is done takes the next block. A worker
/// whose core is slow, or taken away, therefore delays only its own block. The result of work is the first bad index
/// of its range or kNoIndex, and so is the result of this function.
template <class Work>
std::int64_t for_each_block_on(int workers, std::int64_t n, std::int64_t block, Work work) {
  const std::int64_t count = ceil_div(n, block);
  std::atomic<std::int64_t> ticket{0};
  LowestIndex first_bad;
  run_workers(workers, [&](int) {
    for (;;) {
      const std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
      if (mine >= count) return;
      first_bad.add(work(block_of(n, block, mine)));
    }
  });
  return first_bad.get();
}

/// Runs work(range) on every block, with the number of workers that pays off for blocks of about kBlockBytes.
template <class Work>
std::int64_t for_each_block(std::int64_t n, std::int64_t block, int threads, Work work) {
  return for_each_block_on(block_workers(ceil_div(n, block), threads), n, block, work);
}

// ---- Work units of items that have the same cost.

/// Indices [first, last).
struct WorkUnit {
  std::int64_t first;
  std::int64_t last;
};

/// Returns worker w's work unit of `count` items.
constexpr WorkUnit work_unit_of(std::int64_t count, int worker, int workers) {
  const std::int64_t each = count / workers;
  const std::int64_t more = count % workers;  // the first `more` workers take one more
  const auto first = [&](std::int64_t w) { return w * each + (w < more ? w : more); };
  return {first(worker), first(worker + 1)};
}

/// Runs work(work unit) for each worker's work unit of `count` items: at least `least` of them.
template <class Work>
void for_each_work_unit(std::int64_t count, std::int64_t least, int threads, Work work) {
  const int workers = workers_for(count, least, threads);
  run_workers(workers, [&](int worker) { work(work_unit_of(count, worker, workers)); });
}

/// Runs work(index) for each index below `count`: every worker processes its work unit of them in order.
template <class Work>
void for_each_index(std::int64_t count, int threads, Work work) {
  for_each_work_unit(count, 1, threads, [&](WorkUnit unit) {
    for (std::int64_t index = unit.first; index < unit.last; ++index) work(index);
  });
}

// ---- Work units of whole lists.

/// Returns the number of workers that pays off for lists and bytes of content.
inline int list_workers(std::int64_t lists, std::int64_t bytes, int threads) {
  return block_workers(ceil_div(bytes + lists * tuning::kLists.list_bytes, kBlockBytes), threads);
}

/// Returns the number of lists of a work unit, by their mean length.
inline std::int64_t lists_of_work_unit(std::int64_t lists, std::int64_t bytes, int workers) {
  if (workers == 1) return std::max<std::int64_t>(lists, 1);
  const std::int64_t mean = bytes / std::max<std::int64_t>(lists, 1) + 1;
  const std::int64_t most = std::clamp<std::int64_t>(tuning::kLists.work_unit_bytes / mean, 256, 16384);
  return std::clamp<std::int64_t>(lists / (std::int64_t{workers} * 16), 1, most);
}

// ---- Work units of adjacent lists, whose offsets are known.

/// A position on the merge path: before an element of a list. All earlier lists precede it.
struct PathPosition {
  std::int64_t list;
  std::int64_t element;  ///< number, from the first element of the first list on
};

struct PathWorkUnit {
  PathPosition begin;
  PathPosition end;
};

/// The merge path of lists and elements. `Offsets`: offsets(i), for i in 0 … n, which need not be valid.
template <class Offsets>
class ListPath {
 public:
  ListPath(const Offsets& offsets, std::int64_t n, std::int64_t element_bytes)
      : offsets_(offsets), n_(n), element_bytes_(element_bytes), first_(offsets(0)) {}

  /// Returns the work on all lists and elements, in bytes.
  [[nodiscard]] std::int64_t work() const { return before(n_); }
  [[nodiscard]] PathPosition end() const { return {n_, offsets_(n_) - first_}; }

  /// Returns the position with `work` bytes before it. The list of the position is the last list that is preceded by at
  /// most `work` bytes. For offsets that are not sorted the position is arbitrary.
  [[nodiscard]] PathPosition at(std::int64_t work) const {
    std::int64_t low = 0;  // before(low) <= work
    std::int64_t high = n_ + 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (before(middle) <= work ? low : high) = middle;
    }
    if (low == n_) return end();
    const std::int64_t into = std::max<std::int64_t>(work - before(low) - kListBytes, 0) / element_bytes_;
    const std::int64_t length = std::max<std::int64_t>(offsets_(low + 1) - offsets_(low), 0);
    return {low, offsets_(low) - first_ + std::min(into, length)};
  }

 private:
  /// The cost of a list in addition to its elements.
  static constexpr std::int64_t kListBytes = tuning::kLists.list_bytes;

  /// Returns the work on all lists before list i.
  [[nodiscard]] std::int64_t before(std::int64_t i) const {
    return i * kListBytes + (offsets_(i) - first_) * element_bytes_;
  }

  const Offsets& offsets_;
  std::int64_t n_;
  std::int64_t element_bytes_;
  std::int64_t first_;
};

/// Runs work(PathWorkUnit) on each work unit of the lists, in any order on any worker. Work units cover all elements
/// and all lists, and their ranges of elements do not overlap, even if offsets are bad. Returns whether all calls
/// returned true; also false if the positions show that offsets decrease. Throws std::bad_alloc.
template <class Offsets, class Work>
bool for_each_path_work_unit(const Offsets& offsets, std::int64_t n, std::int64_t element_bytes, int threads,
                             Work work) {
  const ListPath<Offsets> path(offsets, n, element_bytes);
  const std::int64_t bytes = path.work();
  const int workers = block_workers(ceil_div(bytes, kBlockBytes), threads);
  if (workers == 1) return work(PathWorkUnit{{0, 0}, path.end()});

  constexpr std::int64_t kLeastBytes = 2 * kBlockBytes;
  const std::int64_t count = std::clamp<std::int64_t>(bytes / kLeastBytes, 1, workers * tuning::kLists.units_of_worker);
  const std::int64_t each = ceil_div(bytes, count);
  std::vector<PathPosition> at(static_cast<std::size_t>(count) + 1);
  run_workers(workers, [&](int worker) {
    const WorkUnit mine = work_unit_of(count, worker, workers);
    for (std::int64_t i = mine.first; i < mine.last; ++i) at[static_cast<std::size_t>(i)] = path.at(i * each);
  });
  at[0] = {0, 0};
  at.back() = path.end();
  const auto goes_back = [](const PathPosition& a, const PathPosition& b) {
    return b.list < a.list || b.element < a.element;
  };
  if (std::ranges::adjacent_find(at, goes_back) != at.end()) return false;

  const std::int64_t bad = for_each_block_on(workers, count, 1, [&](Range one) {
    const auto i = static_cast<std::size_t>(one.first);
    return work(PathWorkUnit{at[i], at[i + 1]}) ? kNoIndex : one.first;
  });
  return bad == kNoIndex;
}

/// The elements [begin, end) of a work unit that belong to list i; the list begins at `begins` and ends at `ends`.
struct ElementRange {
  std::int64_t begin;
  std::int64_t end;
};
constexpr ElementRange within(const PathWorkUnit& unit, std::int64_t i, std::int64_t begins, std::int64_t ends) {
  return {i == unit.begin.list ? unit.begin.element : begins, i == unit.end.list ? unit.end.element : ends};
}

// ---- Work units of lists in any order, which are measured first.

/// The number of elements that a list reads, and that it writes.
struct ListSize {
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  bool is_bad = false;
};

/// The elements from … to - 1 of a list, whose first one is written to element `out` of the output.
struct ListElements {
  std::int64_t list = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  ListSize size;           ///< of the whole list
  std::int64_t out = 0;    ///< where the list's output begins
  bool has_begin = false;  ///< whether the list itself belongs to this work unit, and not only some of its elements
};

/// Two passes over the lists, each on any number of workers. The first one measures blocks of lists, the second one
/// processes work units, which begin and end anywhere in a list. A list counts as kListWork elements, so that empty
/// ones are also distributed.
class MeasuredLists {
 public:
  /// measure(i) must return the ListSize of list i. Throws std::bad_alloc.
  template <class Measure>
  MeasuredLists(std::int64_t lists, int workers, const Measure& measure) : lists_(lists), workers_(workers) {
    blocks_.resize(static_cast<std::size_t>(ceil_div(lists, kMeasuredAtOnce)) + 1);
    first_bad_ = for_each_block_on(workers, lists, kBlocksAtOnce * kMeasuredAtOnce, [&](Range range) {
      std::int64_t bad = kNoIndex;
      const std::int64_t end = range.first + range.count;
      for (std::int64_t first = range.first; first < end; first += kMeasuredAtOnce) {
        bad = first_index(bad, measure_block(first, std::min(first + kMeasuredAtOnce, end), measure));
      }
      return bad;
    });
    add_up();
  }

  [[nodiscard]] std::int64_t first_bad() const { return first_bad_; }
  /// Whether there are more elements than int64 can count.
  [[nodiscard]] bool overflows() const { return overflows_; }
  [[nodiscard]] std::int64_t writes() const { return blocks_.back().writes; }

  /// Runs in every work unit: `auto work = begin()`, work(ListElements) for each list, work.finish().
  template <class Measure, class Begin>
  void for_each(const Measure& measure, const Begin& begin) const {
    for_each_block_on(workers_, blocks_.back().work, kUnitWork, [&](Range unit) {
      auto work = begin();
      visit(unit.first, unit.first + unit.count, measure, work);
      work.finish();
      return kNoIndex;
    });
  }

 private:
  static constexpr std::int64_t kListWork = tuning::kMeasuredLists.list_work;
  static constexpr std::int64_t kMeasuredAtOnce = tuning::kMeasuredLists.block_lists;
  static constexpr std::int64_t kBlocksAtOnce = tuning::kMeasuredLists.blocks;
  static constexpr std::int64_t kUnitWork = tuning::kMeasuredLists.unit_work;

  /// The work and the writes before a block.
  struct Block {
    std::int64_t work = 0;
    std::int64_t writes = 0;
  };

  template <class Measure>
  std::int64_t measure_block(std::int64_t first, std::int64_t end, const Measure& measure) {
    Block block;  // local: for the compiler, measure() could read the one in memory
    std::int64_t bad = kNoIndex;
    for (std::int64_t i = first; i < end; ++i) {
      const ListSize size = measure(i);
      if (size.is_bad) bad = first_index(bad, i);
      block.work += kListWork + size.reads;
      block.writes += size.writes;
    }
    blocks_[static_cast<std::size_t>(first / kMeasuredAtOnce)] = block;
    return bad;
  }

  void add_up() {
    Block before;
    for (Block& block : blocks_) {
      const Block own = block;
      block = before;
      overflows_ |= __builtin_add_overflow(before.work, own.work, &before.work);
      before.writes += own.writes;  // at most as large as the work
    }
  }

  template <class Measure, class Visit>
  void visit(std::int64_t from, std::int64_t to, const Measure& measure, Visit& visit_list) const {
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), from,
                                        [](std::int64_t work, const Block& block) { return work < block.work; });
    const auto found = after - blocks_.begin() - 1;
    std::int64_t work = blocks_[static_cast<std::size_t>(found)].work;
    std::int64_t out = blocks_[static_cast<std::size_t>(found)].writes;
    for (std::int64_t i = found * kMeasuredAtOnce; i < lists_ && work < to; ++i) {
      const ListSize size = measure(i);
      const std::int64_t elements = work + kListWork;  // where the list's elements begin, in work
      const ListElements one{.list = i,
                             .from = std::clamp<std::int64_t>(from - elements, 0, size.reads),
                             .to = std::clamp<std::int64_t>(to - elements, 0, size.reads),
                             .size = size,
                             .out = out,
                             .has_begin = work >= from};
      work = elements + size.reads;
      out += size.writes;
      if (work > from) visit_list(one);
    }
  }

  std::int64_t lists_;
  int workers_;
  std::vector<Block> blocks_;
  std::int64_t first_bad_ = kNoIndex;
  bool overflows_ = false;
};

}  // namespace upsweep::cpu
