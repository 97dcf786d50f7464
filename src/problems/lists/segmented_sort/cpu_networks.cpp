// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cpu_networks.cpp: sorts lists in registers by networks, and merges long lists from such
// blocks, on every core.
//
// Idea   A list of up to 64 elements is a row of lanes, which a bitonic network sorts without a branch. The next list's
//        row overwrites the lanes past its end. Longer lists are sorted in blocks of 64, which are merged. Threads take
//        work units of lists dynamically; before that, they take the longest lists one by one. All threads together
//        sort a list that is a large share of all elements.
// Cost   One pass over the content for lists of up to 64. A row of 8 takes 6 steps, of 64 21 steps of 8 vectors. Longer
//        lists also take m·log2(m/64) merge steps. Bounds are read twice: when they are checked, and here.
// Needs  AVX-512, AVX2 or baseline.
// Limit  Lists of 3: memory bandwidth, on two threads; each row of 8 lanes is sorted as a whole. Long lists: merging,
//        one key at a time.
// From   K. E. Batcher, "Sorting networks and their applications", AFIPS 1968; S. Odeh et al., "Merge Path", IPDPSW
//        2012.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>

#include "cpu/parallel.hpp"
#include "cpu/sort_kernels.hpp"
#include "cpu/tuning/lists.hpp"
#include "problems/lists/segmented_sort/long_list.hpp"
#include "problems/lists/segmented_sort/rung.hpp"

namespace upsweep::impl::segmented_sort {

namespace {

/// Minimum number of elements and lists per worker.
constexpr std::int64_t kWork = cpu::tuning::kListSort.work;
/// Lists of fewer elements are sorted by one thread.
constexpr std::int64_t kLeastTogether = cpu::tuning::kListSort.least_together;

class Sorter {
 public:
  Sorter(const Call& call, Isa isa)
      : call_(call),
        kernel_(cpu::sort_kernel(isa, call.type)),
        order_{call.descending, call.nan_first},
        size_(size_of(call.type)) {}

  /// Sorts list number `at` of a work unit, of any length, with `workers` workers.
  void sort_alone(const cpu::ListBlock& work_unit, std::int64_t at, std::int64_t out, int workers,
                  LongListScratch& scratch) const {
    sort_long_list({&kernel_, size_, element(work_unit.starts[at]), work_unit.lengths[at], order_,
                    call_.out == nullptr ? nullptr : static_cast<std::byte*>(call_.out) + out * size_,
                    call_.positions == nullptr ? nullptr : call_.positions + out},
                   workers, scratch);
  }

  /// Sorts all lists of a work unit except the long ones.
  void sort_work_unit(const WorkUnitPlaces& work_unit, LongListScratch& scratch) const {
    for (std::int64_t first = 0; first < work_unit.count;) {
      const std::int64_t last = short_run(work_unit, first);
      if (last > first) sort_run(work_unit, first, last, scratch);
      first = last;
      if (first == work_unit.count || work_unit.lengths[first] <= cpu::kShortList) continue;
      if (work_unit.lengths[first] <= kLongList) sort_alone(work_unit, first, work_unit.outs[first], 1, scratch);
      ++first;
    }
  }

 private:
  [[nodiscard]] bool is_in_place() const { return call_.out == call_.content; }
  /// Returns whether there may be gaps between lists that must not be written: null lists that are not packed.
  [[nodiscard]] bool keeps_gaps() const {
    return is_in_place() || (call_.lists.valid.is_given() && call_.plan->first_out.empty());
  }
  [[nodiscard]] const std::byte* element(std::int64_t i) const {
    return static_cast<const std::byte*>(call_.content) + i * size_;
  }

  /// Returns the end of the run of short lists that begins with `first`. If gaps are kept, the run contains none.
  [[nodiscard]] std::int64_t short_run(const WorkUnitPlaces& work_unit, std::int64_t first) const {
    if (work_unit.most <= cpu::kShortList && !keeps_gaps()) return work_unit.count;
    std::int64_t last = first;
    while (last < work_unit.count && work_unit.lengths[last] <= cpu::kShortList) {
      if (keeps_gaps() && last > first &&
          work_unit.starts[last] != work_unit.starts[last - 1] + work_unit.lengths[last - 1])
        break;
      ++last;
    }
    return last;
  }

  void sort_run(const WorkUnitPlaces& work_unit, std::int64_t first, std::int64_t last,
                LongListScratch& scratch) const {
    const std::int64_t end = end_of(work_unit, first, last);
    if (end == 0) return;  // all lists are empty
    cpu::ShortLists lists{.starts = work_unit.starts + first,
                          .lengths = work_unit.lengths + first,
                          .count = last - first,
                          .content = call_.content,
                          .content_first = 0,
                          .content_end = call_.n,
                          .out_first = call_.plan->first_out.empty() ? kNoIndex : work_unit.outs[first],
                          .out_end = end,
                          .order = order_};
    if (is_in_place()) copy_content(lists, scratch);
    if (call_.positions != nullptr) {
      kernel_.argsort(lists, call_.positions);
    } else {
      kernel_.sort(lists, call_.out);
    }
  }

  /// Returns the end of the last nonempty list in the output, or 0 if all are empty.
  static std::int64_t end_of(const WorkUnitPlaces& work_unit, std::int64_t first, std::int64_t last) {
    while (last > first && work_unit.lengths[last - 1] == 0) --last;
    return last == first ? 0 : work_unit.outs[last - 1] + work_unit.lengths[last - 1];
  }

  /// Copies the content before a sort in place. Otherwise a row would be read while the store of the row before it,
  /// which overlaps it, is still in flight: 14 ns per list.
  void copy_content(cpu::ShortLists& lists, LongListScratch& scratch) const {
    const std::int64_t first = lists.starts[0];
    const std::int64_t count = lists.out_end - first;
    std::byte* const copy = scratch.reserve(kRunBytes);
    std::memcpy(copy, element(first), static_cast<std::size_t>(count * size_));
    lists.content = copy;
    lists.content_first = first;
    lists.content_end = lists.out_end;
  }

  static constexpr std::int64_t kRunBytes = cpu::kBlockLists * cpu::kShortList * 8;

  const Call& call_;
  const cpu::SortKernel& kernel_;
  cpu::SortOrder order_;
  int size_;
};

/// The work of a call: first the long lists one by one, then work units, which threads take dynamically.
class Work {
 public:
  Work(const Call& call, const Policy& policy)
      : call_(call),
        sorter_(call, policy.isa),
        workers_(cpu::workers_for(call.plan->elements + call.lists.count, kWork, policy.threads)) {}

  /// Throws std::bad_alloc. A worker may also throw it; then no_memory_ is set.
  void run() {
    const auto& lists = call_.plan->long_lists;
    std::size_t alone = 0;
    if (workers_ > 1) {
      LongListScratch scratch;
      for (; alone < lists.size() && sort_long(lists[alone], Together::maybe, scratch); ++alone) {
      }
    }
    std::atomic<std::int64_t> ticket{static_cast<std::int64_t>(alone)};
    cpu::run_workers(workers_, [&](int) noexcept {
      try {
        take(ticket);
      } catch (const std::bad_alloc&) {
        no_memory_ = true;
      }
    });
    if (no_memory_) throw std::bad_alloc();
  }

 private:
  enum class Together : std::uint8_t { maybe, no };

  void take(std::atomic<std::int64_t>& ticket) {
    LongListScratch scratch;
    const auto long_lists = std::ssize(call_.plan->long_lists);
    const std::int64_t end = long_lists + cpu::list_blocks(call_.lists);
    for (std::int64_t mine = ticket++; mine < end; mine = ticket++) {
      if (mine < long_lists) {
        sort_long(call_.plan->long_lists[static_cast<std::size_t>(mine)], Together::no, scratch);
      } else {
        sorter_.sort_work_unit(WorkUnitPlaces(call_, mine - long_lists), scratch);
      }
    }
  }

  /// Sorts a long list. Returns false if all threads should sort it together but it is too short for that.
  bool sort_long(std::int64_t list, Together together, LongListScratch& scratch) {
    const WorkUnitPlaces work_unit(call_, list / cpu::kBlockLists);
    const std::int64_t at = list % cpu::kBlockLists;
    const std::int64_t count = work_unit.lengths[at];
    if (together == Together::no) {
      sorter_.sort_alone(work_unit, at, work_unit.outs[at], 1, scratch);
      return true;
    }
    if (count < kLeastTogether || count < call_.plan->elements / workers_ / 4) return false;
    sorter_.sort_alone(work_unit, at, work_unit.outs[at], workers_, scratch);
    return true;
  }

  const Call& call_;
  Sorter sorter_;
  int workers_;
  std::atomic<bool> no_memory_{false};
};

Status run(Call& call, const Policy& policy) noexcept try {
  Work(call, policy).run();
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

const char* refusal(const Call&, const Policy& policy) noexcept { return isa_refusal(policy.isa); }

}  // namespace

extern const Rung cpu_networks{.info = {.id = "cpu.networks",
                                        .idea = "rows of lanes through sorting networks, long lists merged",
                                        .needs = "AVX2, AVX-512 or baseline",
                                        .traffic = "n read, n written",
                                        .cost = "rows of 8, 16, 32 or 64 lanes; log2(m/64) merges",
                                        .limit = "memory bandwidth; for long lists the merges"},
                               .refusal = refusal,
                               .run = run};

}  // namespace upsweep::impl::segmented_sort
