// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cpu_compress.cpp: converts the mask to bits with counts; ranks are offsets, vectors compress.
//
// Idea   One pass over the mask converts 64 booleans to a word of bits and records how many are set before it. The
//        number before each block follows from the blocks' totals. After that all work is independent. A new offset is
//        the rank of an old one (three loads and a popcount). Each block of each column is compressed by vectors to its
//        place. Elements and lists are split separately, so no pattern of lists unbalances the threads. Lists that are
//        not adjacent take two passes over their bounds instead. The first counts the kept elements of each list as a
//        difference of ranks. The second runs equal work units, which begin anywhere in a list.
// Cost   The mask, the content, the lists and the kept elements move once. Another 5/32 bytes per element are written
//        and read, mostly in caches. Work n/8 + lists, depth n/(8p).
// Needs  AVX-512, AVX2 or baseline.
// Limit  The memory bandwidth of the machine, and the extra cost of storing to outputs that are not in a cache.
// From   The `mark` and `take` kernels of a GPU's compaction, on vectors. Ranks as selection vectors are from succinct
//        bit vectors (G. Jacobson, "Space-efficient Static Trees and Graphs", FOCS 1989).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "cpu/marks.hpp"
#include "cpu/select_kernels.hpp"
#include "cpu/tuning/dense.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/select/rung.hpp"
#include "problems/dense/select/workers.hpp"

namespace upsweep::impl::select {
namespace {

using cpu::ListElements;
using cpu::ListSize;
using cpu::Marks;
using cpu::MeasuredLists;
using cpu::Range;
using cpu::SelectKernels;

/// Number of lists whose offsets are ranked at a time.
constexpr std::int64_t kListBlock = cpu::tuning::kDense.select_lists;

/// Runs offsets(range of lists) on all lists and content(column, block) on all blocks of all columns, on any worker.
template <class Offsets, class Content>
std::int64_t run_both(int workers, std::int64_t lists, const Offsets& offsets, std::int64_t blocks,
                      std::int64_t columns, const Content& content) {
  const std::int64_t list_blocks = cpu::ceil_div(lists, kListBlock);
  return cpu::for_each_block_on(workers, list_blocks + blocks * columns, 1, [&](Range ticket) {
    if (ticket.first < list_blocks) return offsets(cpu::block_of(lists, kListBlock, ticket.first));
    const std::int64_t run = ticket.first - list_blocks;
    content(static_cast<std::size_t>(run / blocks), run % blocks);
    return kNoIndex;
  });
}

Status run_array(detail::SelectCall& call, const SelectKernels& kernels, int workers) {
  const Range all{0, call.mask.length};
  if (call.columns.empty()) {
    call.kept = count_marks(call.mask, all, kernels, workers);
    return has_capacity(call) ? Status{} : kNoCapacity;
  }
  const Marks marks(call.mask, all, kernels, workers);
  call.kept = marks.total();
  if (!has_capacity(call)) return kNoCapacity;
  run_both(
      workers, 0, [](Range) { return kNoIndex; }, marks.blocks(), std::ssize(call.columns),
      [&](std::size_t c, std::int64_t block) { compact_block(call.columns[c], marks, block, kernels); });
  return {};
}

// ----------------------------------------------------------------------------------------------------- adjacent lists

/// Returns the first list of a range that is itself bad.
std::int64_t first_bad_list(const detail::SelectCall& call, Range lists) {
  return visit_bounds(call.lists, [&](auto bounds) {
    for (std::int64_t i = lists.first; i < lists.first + lists.count; ++i) {
      if (check_list(bounds.start(i), bounds.stop(i), call.mask.length) != Code::ok) return i;
    }
    return kNoIndex;
  });
}

Status bad_list(const detail::SelectCall& call, std::int64_t list) {
  return {.code = check_list(call.lists, list, call.mask.length), .index = list};
}

/// Computes the offsets of a range of lists. Returns its first bad list or kNoIndex.
std::int64_t rank_lists(const detail::SelectCall& call, const Marks& marks, Range lists, const SelectKernels& kernels) {
  std::int64_t* const out = call.out_offsets == nullptr ? nullptr : call.out_offsets + 1 + lists.first;
  if (call.lists.has_size) {
    const std::int64_t size = call.lists.size;
    if (out != nullptr) kernels.rank_sized((lists.first + 1) * size, size, lists.count, marks.view(), out);
    return kNoIndex;
  }
  const auto* const offsets = static_cast<const std::byte*>(call.lists.starts) + lists.first * size_of(call.lists.type);
  const bool is_bad = kernels.rank_offsets[cpu::bound_type(call.lists.type)](offsets, lists.count, marks.first(),
                                                                             marks.count(), marks.view(), out);
  // The error may come from a list of another range; this range may only see its effect.
  return is_bad ? first_bad_list(call, lists) : kNoIndex;
}

Status run_adjacent(detail::SelectCall& call, const SelectKernels& kernels, int workers) {
  const std::int64_t n = call.lists.count;
  const auto [start, stop] = visit_bounds(call.lists, [&](auto bounds) {
    return n == 0 ? cpu::MarkRange{0, 0} : cpu::MarkRange{bounds.start(0), bounds.stop(n - 1)};
  });
  if (call.out_offsets != nullptr) call.out_offsets[0] = 0;
  if (start < 0 || stop < start || stop > call.mask.length) {
    // Either a list is bad, or all lists are empty.
    const std::int64_t bad = first_bad_list(call, {0, n});
    if (bad != kNoIndex) return bad_list(call, bad);
    if (call.out_offsets != nullptr) std::fill_n(call.out_offsets, n + 1, 0);
    return has_capacity(call) ? Status{} : kNoCapacity;
  }
  const Marks marks(call.mask, {start, stop - start}, kernels, workers);
  call.kept = marks.total();
  if (!has_capacity(call)) return kNoCapacity;
  const std::int64_t bad = run_both(
      workers, n, [&](Range lists) { return rank_lists(call, marks, lists, kernels); }, marks.blocks(),
      std::ssize(call.columns),
      [&](std::size_t c, std::int64_t block) { compact_block(call.columns[c], marks, block, kernels); });
  return bad == kNoIndex ? Status{} : bad_list(call, bad);
}

// ------------------------------------------------------------------------------------------------------ lists anywhere

/// The range of the content that contains all lists that are neither null nor empty, and the first bad list.
struct Cover {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t bad;
};

template <class Bounds>
Cover cover_of(const detail::SelectCall& call, const Bounds& bounds, int workers) {
  std::atomic<std::int64_t> start{call.mask.length};
  std::atomic<std::int64_t> stop{0};
  const std::int64_t bad = cpu::for_each_block_on(workers, call.lists.count, kListBlock, [&](Range lists) {
    std::int64_t low = call.mask.length;
    std::int64_t high = 0;
    std::int64_t first_bad = kNoIndex;
    for (std::int64_t i = lists.first; i < lists.first + lists.count; ++i) {
      if (is_null(call.lists, i) || bounds.start(i) == bounds.stop(i)) continue;
      if (check_list(bounds.start(i), bounds.stop(i), call.mask.length) != Code::ok) {
        first_bad = cpu::first_index(first_bad, i);
      }
      low = std::min(low, bounds.start(i));
      high = std::max(high, bounds.stop(i));
    }
    for (std::int64_t known = start; low < known && !start.compare_exchange_weak(known, low);) continue;
    for (std::int64_t known = stop; high > known && !stop.compare_exchange_weak(known, high);) continue;
    return first_bad;
  });
  return {start, std::max<std::int64_t>(stop, start), bad};
}

/// Processes a work unit: writes offsets at once, and moves 1024 ranges of content at a time, for all columns.
template <class Bounds>
class SelectWorkUnit {
 public:
  SelectWorkUnit(const detail::SelectCall& call, const Bounds& bounds, const Marks& marks, const SelectKernels& kernels)
      : call_(call), bounds_(bounds), marks_(marks), kernels_(kernels) {}

  void operator()(const ListElements& elements) {
    if (elements.has_begin && call_.out_offsets != nullptr) call_.out_offsets[elements.list] = elements.out;
    if (elements.from == elements.to) return;
    const std::int64_t start = bounds_.start(elements.list) - marks_.first();
    const bool is_whole = elements.to - elements.from == elements.size.reads;
    if (count_ == 0) out_ = elements.out + (is_whole ? 0 : marks_.rank(start + elements.from) - marks_.rank(start));
    kept_ += is_whole ? elements.size.writes : marks_.rank(start + elements.to) - marks_.rank(start + elements.from);
    ranges_[count_++] = {start + elements.from, start + elements.to};
    fetch(start + elements.from);
    if (count_ == kRanges) finish();
  }

  void finish() {
    for (const SelectColumn& column : call_.columns) {
      kernels_.compact_ranges[cpu::moved_size(column.element_size)](
          static_cast<const std::byte*>(column.data) + marks_.first() * column.element_size, marks_.count(),
          marks_.view().words, ranges_, count_, static_cast<std::byte*>(column.out) + out_ * column.element_size,
          kept_);
    }
    count_ = 0;
    kept_ = 0;
  }

 private:
  static constexpr std::int64_t kRanges = 1024;

  /// Prefetches the beginning of a range, because lists may be anywhere. The beginning is then in cache when the range
  /// is compacted.
  void fetch(std::int64_t position) const {
    for (const SelectColumn& column : call_.columns) {
      __builtin_prefetch(static_cast<const std::byte*>(column.data) +
                         (marks_.first() + position) * column.element_size);
    }
  }

  const detail::SelectCall& call_;
  const Bounds& bounds_;
  const Marks& marks_;
  const SelectKernels& kernels_;
  cpu::MarkRange ranges_[kRanges];
  std::int64_t count_ = 0;
  std::int64_t out_ = 0;   // where the first range's output begins
  std::int64_t kept_ = 0;  // elements kept in these ranges
};

template <class Bounds>
Status run_anywhere(detail::SelectCall& call, const Bounds& bounds, const SelectKernels& kernels, int workers) {
  const Cover cover = cover_of(call, bounds, workers);
  if (cover.bad != kNoIndex) return bad_list(call, cover.bad);
  const Marks marks(call.mask, {cover.start, cover.stop - cover.start}, kernels, workers);
  const auto measure = [&](std::int64_t i) -> ListSize {
    if (is_null(call.lists, i) || bounds.start(i) == bounds.stop(i)) return {};
    const std::int64_t start = bounds.start(i) - cover.start;
    const std::int64_t stop = bounds.stop(i) - cover.start;
    return {stop - start, marks.rank(stop) - marks.rank(start)};
  };
  const MeasuredLists measured(call.lists.count, workers, measure);
  if (measured.overflows()) return {.code = Code::overflow, .reason = "the lists have more elements than int64 counts"};
  call.kept = measured.writes();
  if (!has_capacity(call)) return kNoCapacity;
  if (call.out_offsets != nullptr) call.out_offsets[call.lists.count] = call.kept;
  if (call.out_offsets == nullptr && call.columns.empty()) return {};
  measured.for_each(measure, [&] { return SelectWorkUnit(call, bounds, marks, kernels); });
  return {};
}

Status run(detail::SelectCall& call, const Policy& policy) noexcept try {
  const SelectKernels& kernels = cpu::select_kernels(policy.isa);
  const int workers = workers_of(call, policy.threads);
  if (!call.has_lists) return run_array(call, kernels, workers);
  if (call.lists.are_adjacent() && !call.lists.valid.is_given()) return run_adjacent(call, kernels, workers);
  return visit_bounds(call.lists, [&](auto bounds) { return run_anywhere(call, bounds, kernels, workers); });
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_compress{.info = {.id = "cpu.compress",
                                        .idea = "mask to bits; offsets are ranks, vectors are compressed",
                                        .needs = "AVX2, AVX-512 or baseline",
                                        .traffic = "n read, kept written, once",
                                        .cost = "n/w + lists, that / p",
                                        .limit = "the memory"},
                               .refusal = needs_isa,
                               .run = run};

}  // namespace upsweep::impl::select
