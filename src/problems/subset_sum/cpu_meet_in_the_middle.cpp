// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_meet_in_the_middle.cpp: the sums of both halves of the items as sorted lists, searched from
// both ends.
//
// Idea   Every sum is a sum of the first half plus a sum of the second half. Both lists are sorted: to add an item, a
//        list is merged with a copy of itself that is shifted by the item. Then one list is read in ascending order and
//        the other list in descending order to find pairs near the target.
// Cost   2.5 lists of 2^(n/2) sums of 8 bytes. Work 2^(n/2), depth 2^(n/2)/p.
// Needs  Any CPU; up to 66 items; decides, does not fill.
// Limit  The memory for the lists: 5.4 GB at n = 56. cpu.schroeppel_shamir needs the square root of this number of
//        sums.
// From   E. Horowitz, S. Sahni, "Computing partitions with applications to the knapsack problem", 1974; merges are
//        split as in O. Green, R. McColl, D. Bader, "GPU merge path", 2012.
#include "problems/subset_sum/rung.hpp"

#include <atomic>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/subset_sum.hpp"
#include "cpu/work_partition.hpp"
#include "problems/subset_sum/bitmap.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::subset_sum {
namespace {

// Minimum number of sums per thread.
constexpr std::int64_t kLeastShare = cpu::tuning::kSubsetWork.merged_sums;

/// Merges a list with itself shifted by `item`: returns how many of the first `rank` sums are unshifted.
std::int64_t split(const Sum* list, std::int64_t count, Sum item, std::int64_t rank) {
  std::int64_t low = std::max<std::int64_t>(rank - count, 0);
  std::int64_t high = std::min(rank, count);
  while (low < high) {
    const std::int64_t mid = low + (high - low) / 2;
    if (list[mid] <= list[rank - mid - 1] + item) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

// The value past the last sum of a list. It exceeds every sum, also shifted, and does not overflow when shifted itself.
constexpr Sum kPastEnd = Sum{1} << 63;

/// Returns the next sum of the merge.
inline Sum step(const Sum* list, Sum item, std::int64_t& stays, std::int64_t& moves) {
  // [guide: merge]
  const Sum stay = list[stays];
  const Sum move = list[moves] + item;
  const std::int64_t takes = stay <= move ? 1 : 0;
  stays += takes;
  moves += 1 - takes;
  return move ^ ((stay ^ move) & -static_cast<Sum>(takes));  // GCC would compile a conditional to a branch
  // [guide: end]
}

/// Computes sums first … last - 1 of that merge. A step depends on the result of the previous step. Therefore four
/// places of the merge are advanced in turn, which takes 1.4 ns per sum; one place takes 4.2 ns. The steps have no
/// unpredictable branch.
void merge_share(const Sum* list, std::int64_t count, Sum item, std::int64_t first, std::int64_t last, Sum* out) {
  constexpr int kPlaces = 4;
  const std::int64_t length = (last - first) / kPlaces;
  std::int64_t stays[kPlaces];
  std::int64_t moves[kPlaces];
  for (int p = 0; p < kPlaces; ++p) {
    stays[p] = split(list, count, item, first + p * length);
    moves[p] = first + p * length - stays[p];
  }
  for (std::int64_t k = 0; k < length; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < kPlaces; ++p) out[first + p * length + k] = step(list, item, stays[p], moves[p]);
  }
  for (std::int64_t rank = first + kPlaces * length; rank < last; ++rank) {
    out[rank] = step(list, item, stays[kPlaces - 1], moves[kPlaces - 1]);
  }
}

/// Makes all sums of some items up to `most`, in ascending order, followed by kPastEnd. The result is in `out`, which
/// is used in turn with `other`. Returns -1 if ask(), called before every merge, stops it.
template <class Ask>
std::int64_t make_list(const std::int64_t* items, std::int64_t n, Sum most, int threads, Sum* out, Sum* other,
                       Ask ask) {
  Sum* list = n % 2 == 0 ? out : other;  // after n merges it is `out`
  Sum* next = n % 2 == 0 ? other : out;
  list[0] = 0;
  list[1] = kPastEnd;
  std::int64_t count = 1;
  for (std::int64_t j = 0; j < n; ++j) {
    if (!ask()) return -1;
    const auto item = static_cast<Sum>(items[j]);
    cpu::for_each_work_unit(2 * count, kLeastShare, threads,
                            [&](cpu::WorkUnit unit) { merge_share(list, count, item, unit.first, unit.last, next); });
    count = std::upper_bound(next, next + 2 * count, most) - next;
    next[count] = kPastEnd;
    std::swap(list, next);
  }
  return count;
}

struct Lists {
  const Sum* left;
  std::int64_t left_count;
  const Sum* right;
  std::int64_t right_count;
};

/// Returns the nearest pair whose left sum is one of first … last - 1. Calls `go_on(i)` now and then.
template <class GoOn>
Nearest search(const detail::SubsetSumCall& call, const Lists& lists, cpu::WorkUnit unit, GoOn go_on) {
  constexpr std::int64_t kAskEvery = 1 << 20;  // a millisecond
  const auto target = static_cast<Sum>(call.target);
  Nearest nearest(call);
  if (unit.first == unit.last) return nearest;
  // right[j - 1] is the largest sum that, added to the left one, does not exceed the target.
  const Sum* const end = lists.right + lists.right_count;
  std::int64_t j = lists.left[unit.first] > target
                       ? 0
                       : std::upper_bound(lists.right, end, target - lists.left[unit.first]) - lists.right;
  // [guide: search]
  for (std::int64_t i = unit.first; i < unit.last; ++i) {
    const Sum left = lists.left[i];
    while (j > 0 && left + lists.right[j - 1] > target) --j;
    if (j > 0) nearest.meet(left + lists.right[j - 1], left);
    if (call.above > 0 && j < lists.right_count) nearest.meet(left + lists.right[j], left);
    if (nearest.exact() && call.early_stop) break;
    if (i % kAskEvery == kAskEvery - 1 && !go_on(i)) break;
  }
  // [guide: end]
  return nearest;
}

Status decide(detail::SubsetSumCall& call, const Policy& policy) {
  const std::int64_t left_items = call.n / 2;
  const std::int64_t right_items = call.n - left_items;
  const Sum most = static_cast<Sum>(call.target) + static_cast<Sum>(call.above);
  const std::int64_t longest = std::int64_t{1} << right_items;
  cpu::Pages<Sum> left((std::int64_t{1} << left_items) + 1);
  cpu::Pages<Sum> right(longest + 1);
  cpu::Pages<Sum> other(std::max<std::int64_t>(longest / 2, 1) + 1);
  Lists lists{left.data(), 0, right.data(), 0};
  // Two thirds of the work are merges.
  lists.left_count = make_list(call.items, left_items, most, policy.threads, left.data(), other.data(),
                               [&] { return go_on(call, 0, 3); });
  if (lists.left_count < 0) return kInterrupted;
  lists.right_count = make_list(call.items + left_items, right_items, most, policy.threads, right.data(), other.data(),
                                [&] { return go_on(call, 1, 3); });
  if (lists.right_count < 0 || !go_on(call, 2, 3)) return kInterrupted;

  const int workers = cpu::workers_for(lists.left_count, kLeastShare, policy.threads);
  std::vector<Nearest> found(static_cast<std::size_t>(workers), Nearest(call));
  std::atomic<int> exact_by{workers};  // the lowest worker that found the target itself; higher workers may stop
  std::atomic<bool> interrupted{false};
  cpu::run_workers(workers, [&](int worker) {
    const cpu::WorkUnit unit = cpu::work_unit_of(lists.left_count, worker, workers);
    auto& mine = found[static_cast<std::size_t>(worker)];
    mine = search(call, lists, unit, [&](std::int64_t i) {
      const double done = static_cast<double>(i - unit.first) / static_cast<double>(unit.last - unit.first);
      if (worker == 0 && !upsweep::impl::subset_sum::go_on(call, (2 + done) / 3)) {
        interrupted.store(true, std::memory_order_relaxed);
      }
      return !interrupted.load(std::memory_order_relaxed) && exact_by.load(std::memory_order_relaxed) > worker;
    });
    if (!mine.exact()) return;
    int lowest = exact_by.load(std::memory_order_relaxed);
    while (worker < lowest && !exact_by.compare_exchange_weak(lowest, worker, std::memory_order_relaxed)) {
    }
  });
  if (interrupted) return kInterrupted;
  Nearest nearest(call);
  for (const Nearest& one : found) nearest.meet(one);
  nearest.write_to(call, left_items);
  return {};
}

Status run(detail::SubsetSumCall& call, const Policy& policy) noexcept {
  return with_memory_for(kNoLists, [&] { return decide(call, policy); });
}

const char* refusal(const detail::SubsetSumCall& call, const Policy&) noexcept {
  return call.n > kMostInLists ? "makes lists of 2^(n/2) sums: supports at most 66 items" : fills_refusal(call);
}

}  // namespace

extern const Rung cpu_meet_in_the_middle{.info = {.id = "cpu.meet_in_the_middle",
                                                  .idea = "the sums of both halves as sorted lists",
                                                  .needs = "any CPU; up to 66 items",
                                                  .traffic = "40 bytes per sum of a half",
                                                  .cost = "2^(n/2), 2^(n/2)/p",
                                                  .limit = "memory: 5.4 GB at n = 56"},
                                         .refusal = refusal,
                                         .run = run};

}  // namespace upsweep::impl::subset_sum
