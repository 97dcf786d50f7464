// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_sorted.cpp: sorts the rows by their keys, and folds each run of equal keys.
//
// Idea   A stable sort of the keys yields the positions of their rows. Positions of a group are adjacent, in the order
//        of the rows. Work units of the positions count the runs that begin in them, and then fold these runs to their
//        ends. A bit for each row ranks the groups by their first rows.
// Cost   A sort of n keys with positions; values and keys read in the order of the keys; groups written. Work n log n,
//        depth n/p log n.
// Needs  Any CPU. Memory for positions and sort: 40 bytes per row.
// Limit  The sort does not use that keys are equal: three distinct keys cost the same as n. Values are read at random.
//        cpu.partitioned stops as soon as groups fit a cache.
// From   System R's GROUP BY; src/problems/lists/segmented_sort, which names the source of its sort.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/keys.hpp"
#include "cpu/work_partition.hpp"
#include "problems/keys/group_by/answer.hpp"
#include "problems/keys/group_by/first_rows.hpp"
#include "problems/keys/group_by/folds.hpp"
#include "problems/keys/group_by/rung.hpp"
#include "problems/keys/group_by/table.hpp"
#include "system/pages.hpp"
#include "upsweep/segmented_sort.hpp"

namespace upsweep::impl::group_by {

namespace {

/// Positions per work unit, the amount that a thread takes at a time.
constexpr std::int64_t kWorkUnit = cpu::tuning::kGroups.sorted_rows;

template <class Key>
class Sorted {
 public:
  Sorted(Call& call, const Policy& policy)
      : call_(call),
        folds_(folds_of(call)),
        threads_(policy.threads),
        keys_(static_cast<const Key*>(call.keys)),
        rows_(call.n),
        runs_before_(static_cast<std::size_t>(cpu::ceil_div(call.n, kWorkUnit)) + 1) {
    const std::int64_t offsets[] = {0, call.n};
    (void)segmented_argsort(policy.with_rung({}), Lists::by_offsets(offsets, 1), keys_, call.n, rows_.data(), call.n);
  }

  Status run() {
    each(
        [&](std::int64_t work_unit) { runs_before_[static_cast<std::size_t>(work_unit) + 1] = count_runs(work_unit); });
    for (std::size_t p = 1; p < runs_before_.size(); ++p) runs_before_[p] += runs_before_[p - 1];
    call_.groups = runs_before_.back();
    if (call_.groups > capacity_of(call_)) return {Code::unequal_lengths};
    FirstRows order(call_.n);
    run_keys_ = cpu::Pages<Key>(call_.groups);
    firsts_ = cpu::Pages<std::int64_t>(call_.groups);
    totals_ = cpu::Pages<std::byte>(call_.groups * folds_.size);
    counts_ = cpu::Pages<std::int64_t>(call_.out_counts != nullptr ? call_.groups : 0);
    each([&](std::int64_t work_unit) { fold_runs(work_unit, order); });
    (void)order.count();
    std::vector<Bad> bad(runs_before_.size());
    each([&](std::int64_t work_unit) { bad[static_cast<std::size_t>(work_unit)] = write_runs(work_unit, order); });
    return outcome(call_, bad.data(), std::ssize(bad));
  }

 private:
  [[nodiscard]] Key key(std::int64_t i) const { return keys_[rows_.data()[i]]; }
  [[nodiscard]] bool begins_run(std::int64_t i) const { return i == 0 || key(i) != key(i - 1); }
  [[nodiscard]] std::int64_t end_of(std::int64_t work_unit) const {
    return std::min((work_unit + 1) * kWorkUnit, call_.n);
  }

  template <class Work>
  void each(Work work) const {
    cpu::for_each_index(cpu::ceil_div(call_.n, kWorkUnit), threads_, work);
  }

  std::int64_t count_runs(std::int64_t work_unit) const {
    std::int64_t runs = 0;
    for (std::int64_t i = work_unit * kWorkUnit; i < end_of(work_unit); ++i) runs += begins_run(i) ? 1 : 0;
    return runs;
  }

  /// Folds the runs that begin in the work unit. The last of them may end in another work unit.
  void fold_runs(std::int64_t work_unit, FirstRows& order) {
    std::int64_t run = runs_before_[static_cast<std::size_t>(work_unit)];
    const std::int64_t runs = runs_before_[static_cast<std::size_t>(work_unit) + 1] - run;
    if (runs == 0) return;
    std::byte* const totals = totals_.data() + run * folds_.size;
    folds_.clear(totals, runs);
    std::int64_t begun = 0;
    std::uint32_t numbers[kBlock];
    std::int64_t i = work_unit * kWorkUnit;
    while (i < end_of(work_unit) && !begins_run(i)) ++i;
    for (bool ends = false; !ends;) {
      std::int64_t count = 0;
      for (; count < kBlock && !ends; ++count) {
        const std::int64_t at = i + count;
        if (at == call_.n || begins_run(at)) {
          ends = at >= end_of(work_unit);
          if (ends) break;
          run_keys_[run + begun] = key(at);
          firsts_[run + begun] = rows_[at];
          order.note(rows_[at]);
          ++begun;
        }
        numbers[count] = static_cast<std::uint32_t>(begun - 1);
      }
      folds_.fold_at(call_.in, rows_.data() + i, numbers, count, totals);
      for (std::int64_t k = 0; call_.out_counts != nullptr && k < count; ++k) ++counts_[run + numbers[k]];
      i += count;
    }
  }

  Bad write_runs(std::int64_t work_unit, const FirstRows& order) {
    Bad bad;
    std::int64_t places[kBlock];
    const std::int64_t end = runs_before_[static_cast<std::size_t>(work_unit) + 1];
    for (std::int64_t run = runs_before_[static_cast<std::size_t>(work_unit)]; run < end; run += kBlock) {
      const std::int64_t count = std::min(kBlock, end - run);
      for (std::int64_t r = 0; r < count; ++r) places[r] = order.place_of(firsts_[run + r]);
      const Written<Key> groups{run_keys_.data() + run, totals_.data() + run * folds_.size, places};
      const std::int64_t worst = write_groups(call_, folds_, groups, count);
      if (worst != kNoIndex) bad.add(places[worst], firsts_[run + worst]);
      for (std::int64_t r = 0; call_.out_counts != nullptr && r < count; ++r) {
        call_.out_counts[places[r]] = counts_[run + r];
      }
    }
    return bad;
  }

  Call& call_;
  Folds folds_;
  int threads_;
  const Key* keys_;
  cpu::Pages<std::int64_t> rows_;  ///< in the order of their keys
  std::vector<std::int64_t> runs_before_;
  cpu::Pages<Key> run_keys_;
  cpu::Pages<std::int64_t> firsts_;
  cpu::Pages<std::byte> totals_;
  cpu::Pages<std::int64_t> counts_;
};

Status run(Call& call, const Policy& policy) noexcept try {
  return visit_key(call.key_type, [&]<class Key>(std::type_identity<Key>) { return Sorted<Key>(call, policy).run(); });
} catch (const Error& error) {
  call.failure = std::current_exception();
  return {error.code()};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_sorted{.info = {.id = "cpu.sorted",
                                      .idea = "rows sorted by key, then run after run",
                                      .needs = "AVX2, AVX-512 or baseline",
                                      .traffic = "keys and positions sorted; values read in key order",
                                      .cost = "n log n, that / p",
                                      .limit = "the sort, which costs the same for few groups"},
                             .refusal = needs_isa,
                             .run = run};

}  // namespace upsweep::impl::group_by
