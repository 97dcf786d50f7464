// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_direct.cpp: uses keys that are near one another as the places of their totals.
//
// Idea   A first pass finds the minimum and the maximum key. There is a total for each possible key between them:
//        totals[key - minimum] ← … ⊕ value, without a hash and without a comparison. If the keys are few, each block of
//        rows has a separate table, and all threads merge ranges of keys of these tables. A bit for each row ranks the
//        groups by their first rows.
// Cost   Keys read twice, values once, groups written; a table of 16 bytes per key of the range. Work n and the range,
//        depth that divided by the blocks.
// Needs  Any CPU. Keys whose range is at most four times the number of rows, or 65536.
// Limit  It refuses all other keys. If the range is long, the table fits no cache and one thread processes all rows.
//        cpu.adaptive uses such tables where they are small, while the keys are dense.
// From   Counting sort; column stores use dictionary codes in this way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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

namespace upsweep::impl::group_by {

namespace {

/// Possible keys per row. With more, clearing the table would be most of the work.
constexpr std::uint64_t kPerRow = 4;
/// A table of this size is always worth it.
constexpr std::uint64_t kSmall = 65536;
/// Minimum rows per block, for each key of the range; also at least kLeastRows. Otherwise its table costs more than its
/// rows.
constexpr std::int64_t kRowsPerKey = cpu::tuning::kGroupsOrder.rows_per_key;
constexpr std::int64_t kLeastRows = cpu::tuning::kGroupsOrder.least_rows;
constexpr std::int64_t kMostTables = cpu::tuning::kGroupsOrder.most_tables;

template <class Key>
class Direct {
 public:
  Direct(Call& call, const Policy& policy)
      : call_(call),
        folds_(folds_of(call)),
        threads_(policy.threads),
        keys_(static_cast<const Key*>(call.keys)),
        sign_(is_signed(call.key_type) ? static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1)) : Key{0}) {}

  Status run() {
    if (call_.n == 0) return {};
    find_range();
    if (std::uint64_t{high_} - low_ >= std::max(kPerRow * static_cast<std::uint64_t>(call_.n), kSmall)) {
      return {Code::unsupported, kNoIndex,
              "the range of the keys (maximum - minimum) is more than four times the number of rows"};
    }
    range_ = static_cast<std::int64_t>(std::uint64_t{high_} - low_ + 1);
    const std::int64_t rows = std::max(kRowsPerKey * range_, kLeastRows);
    tables_.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(call_.n / rows, 1, kMostTables)));
    fold_tables();
    FirstRows order(call_.n);
    each_key_range([&](cpu::WorkUnit key_range, std::int64_t) { merge(key_range, order); });
    call_.groups = order.count();
    if (call_.groups > capacity_of(call_)) return {Code::unequal_lengths};
    std::vector<Bad> bad(static_cast<std::size_t>(cpu::ceil_div(range_, kKeyRange)));
    each_key_range(
        [&](cpu::WorkUnit key_range, std::int64_t i) { bad[static_cast<std::size_t>(i)] = write(key_range, order); });
    return outcome(call_, bad.data(), std::ssize(bad));
  }

 private:
  /// The table of one work unit; `first` is -1 if a key has not been seen.
  struct Table {
    cpu::Pages<std::byte> totals;
    cpu::Pages<std::int64_t> firsts;
    cpu::Pages<std::int64_t> counts;
  };
  static constexpr std::int64_t kKeyRange = 16384;

  [[nodiscard]] bool is_counted() const { return call_.out_counts != nullptr; }

  template <class Work>
  void each_key_range(Work work) const {
    cpu::for_each_index(cpu::ceil_div(range_, kKeyRange), threads_,
                        [&](std::int64_t i) { work({i * kKeyRange, std::min((i + 1) * kKeyRange, range_)}, i); });
  }

  void find_range() {
    const std::int64_t work_units = cpu::ceil_div(call_.n, kLeastRows);
    std::vector<Key> lows(static_cast<std::size_t>(work_units));
    std::vector<Key> highs(lows.size());
    cpu::for_each_index(work_units, threads_, [&](std::int64_t i) {
      Key low = static_cast<Key>(keys_[i * kLeastRows] ^ sign_);
      Key high = low;
      for (std::int64_t k = i * kLeastRows; k < std::min((i + 1) * kLeastRows, call_.n); ++k) {
        const auto key = static_cast<Key>(keys_[k] ^ sign_);
        low = key < low ? key : low;
        high = key > high ? key : high;
      }
      lows[static_cast<std::size_t>(i)] = low;
      highs[static_cast<std::size_t>(i)] = high;
    });
    low_ = *std::min_element(lows.begin(), lows.end());
    high_ = *std::max_element(highs.begin(), highs.end());
  }

  void fold_tables() {
    const auto tables = static_cast<int>(tables_.size());
    const int workers = cpu::workers_for(tables, 1, threads_);
    cpu::run_allocating_workers(workers, [&](int worker) {
      const cpu::WorkUnit mine = cpu::work_unit_of(tables, worker, workers);
      for (std::int64_t s = mine.first; s < mine.last; ++s) {
        fold(tables_[static_cast<std::size_t>(s)], cpu::work_unit_of(call_.n, static_cast<int>(s), tables));
      }
    });
  }

  void fold(Table& table, cpu::WorkUnit rows) {
    table.totals = cpu::Pages<std::byte>(range_ * folds_.size);
    table.firsts = cpu::Pages<std::int64_t>(range_);
    table.counts = cpu::Pages<std::int64_t>(is_counted() ? range_ : 0);
    folds_.clear(table.totals.data(), range_);
    std::fill_n(table.firsts.data(), range_, std::int64_t{-1});
    const int size = size_of(call_.in_type);
    std::uint32_t numbers[kBlock];
    for (std::int64_t at = rows.first; at < rows.last; at += kBlock) {
      const std::int64_t count = std::min(kBlock, rows.last - at);
      // [guide: places]
      for (std::int64_t i = 0; i < count; ++i) {
        const auto place = static_cast<std::uint32_t>(static_cast<Key>((keys_[at + i] ^ sign_) - low_));
        if (table.firsts[place] < 0) table.firsts[place] = at + i;
        numbers[i] = place;
      }
      folds_.fold(static_cast<const std::byte*>(call_.in) + at * size, numbers, count, table.totals.data());
      // [guide: end]
      for (std::int64_t i = 0; is_counted() && i < count; ++i) ++table.counts[numbers[i]];
    }
  }

  /// Merges a range of keys of all tables into the first. The total of a key that a work unit has not seen is the
  /// identity.
  void merge(cpu::WorkUnit key_range, FirstRows& order) {
    Table& all = tables_[0];
    std::uint32_t numbers[kBlock];
    for (std::int64_t i = 0; i < kBlock; ++i) numbers[i] = static_cast<std::uint32_t>(i);
    for (std::size_t s = 1; s < tables_.size(); ++s) {
      Table& one = tables_[s];
      for (std::int64_t at = key_range.first; at < key_range.last; at += kBlock) {
        const std::int64_t count = std::min(kBlock, key_range.last - at);
        folds_.merge(one.totals.data() + at * folds_.size, numbers, count, all.totals.data() + at * folds_.size);
      }
      for (std::int64_t k = key_range.first; k < key_range.last; ++k) {
        if (all.firsts[k] < 0) all.firsts[k] = one.firsts[k];
        if (is_counted()) all.counts[k] += one.counts[k];
      }
    }
    for (std::int64_t k = key_range.first; k < key_range.last; ++k) {
      if (all.firsts[k] >= 0) order.note(all.firsts[k]);
    }
  }

  Bad write(cpu::WorkUnit key_range, const FirstRows& order) {
    const Table& all = tables_[0];
    Bad bad;
    Key keys[kBlock];
    std::int64_t places[kBlock];
    std::int64_t firsts[kBlock];
    std::uint32_t to[kBlock];
    alignas(16) std::byte totals[(kBlock + 1) * 16];
    for (std::int64_t at = key_range.first; at < key_range.last; at += kBlock) {
      const std::int64_t count = std::min(kBlock, key_range.last - at);
      std::int64_t seen = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t first = all.firsts.data()[at + i];
        to[i] = kBlock;  // this place is never read
        if (first < 0) continue;
        to[i] = static_cast<std::uint32_t>(seen);
        keys[seen] = keys_[first];
        firsts[seen] = first;
        places[seen] = order.place_of(first);
        if (is_counted()) call_.out_counts[places[seen]] = all.counts.data()[at + i];
        ++seen;
      }
      folds_.move(all.totals.data() + at * folds_.size, to, count, totals);
      const std::int64_t worst = write_groups(call_, folds_, Written<Key>{keys, totals, places}, seen);
      if (worst != kNoIndex) bad.add(places[worst], firsts[worst]);
    }
    return bad;
  }

  Call& call_;
  Folds folds_;
  int threads_;
  const Key* keys_;
  Key sign_;  ///< the bit to flip so that signed keys are ordered as unsigned ones
  Key low_ = 0;
  Key high_ = 0;
  std::int64_t range_ = 0;
  std::vector<Table> tables_;
};

Status run(Call& call, const Policy& policy) noexcept try {
  return visit_key(call.key_type, [&]<class Key>(std::type_identity<Key>) { return Direct<Key>(call, policy).run(); });
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

const char* refusal(const Call& call, const Policy&) noexcept {
  return call.n < std::int64_t{1} << 30 ? nullptr : "places of totals have 32 bits: cpu.adaptive takes more rows";
}

}  // namespace

extern const Rung cpu_direct{.info = {.id = "cpu.direct",
                                      .idea = "nearby keys are the places of their totals",
                                      .needs = "any CPU",
                                      .traffic = "keys read twice, values once, tables, groups written",
                                      .cost = "n + range, n/p if the range is short",
                                      .limit = "refuses keys that are far apart"},
                             .refusal = refusal,
                             .run = run};

}  // namespace upsweep::impl::group_by
