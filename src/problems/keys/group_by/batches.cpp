// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/batches.cpp: batches of rows become entries, which go into partitions by the hashes of their
// keys; each partition becomes groups, which are written in the order of their first rows.
//
// An entry is a key, its first row, and its total in the batch: the value of one row, or the total of several. Entries
// of a batch are stored partition after partition, and within a partition in the order of their rows. A partition reads
// its entries batch by batch, so its groups are also in the order of their first rows. The entries of a batch depend
// only on the keys of the batch. Therefore the order of additions is the order of the batches, for any threads.
//
// Memory grows with the groups. If there are many times more entries than groups, a merge converts the entries to
// groups, which the next merge uses. The last merge overwrites entries: new groups replace the first entries, in each
// partition, of the batch in which the groups were first seen. Then each batch writes the groups that were first seen
// in it, in order, by a bit for each of its rows. The choice of batches per merge changes only the memory.
#include "problems/keys/group_by/batches.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/keys.hpp"
#include "cpu/work_partition.hpp"
#include "problems/keys/group_by/answer.hpp"
#include "problems/keys/group_by/entries.hpp"
#include "problems/keys/group_by/folds.hpp"
#include "problems/keys/group_by/table.hpp"
#include "system/interruption.hpp"

namespace upsweep::impl::group_by {
namespace {

/// Rows of a batch. The last 16 bits of a row are its number in the batch.
constexpr std::int64_t kBatch = cpu::tuning::kGroupsOrder.batch;
/// Maximum number of keys in a batch's table.
constexpr std::int64_t kMostKeys = cpu::tuning::kGroupsOrder.most_keys;
/// Keys within a range of this length are numbered by their place.
constexpr std::uint64_t kDense = 8192;
/// A full table is searched while it has the keys of at least one of kWorthOneOf rows of a block.
constexpr std::int64_t kWorthOneOf = cpu::tuning::kGroupsOrder.worth_one_of;
/// Entries per partition, if all keys differ.
constexpr std::int64_t kEntries = cpu::tuning::kGroupsOrder.entries;
/// Maximum number of partitions, the places that a batch writes to at a time.
constexpr std::int64_t kMostPartitions = cpu::tuning::kGroupsOrder.most_partitions;
/// Up to this number of entries, one thread merges them before others would be awake.
constexpr std::int64_t kAlone = cpu::tuning::kGroups.alone;
/// Minimum number of entries that are merged at a time; also at least four batches per thread.
constexpr std::int64_t kLeastMerged = cpu::tuning::kGroupsOrder.least_merged;
constexpr std::int64_t kLeastMergedByThread = 4 * kBatch;
/// The same minimum, as a multiple of the number of groups.
constexpr std::int64_t kMergedByGroup = cpu::tuning::kGroupsOrder.merged_by_group;
/// Maximum number of consecutive batches whose known groups a thread writes. It first searches each partition for the
/// first of these groups.
constexpr std::int64_t kMostWritten = cpu::tuning::kGroups.most_written;

/// A thread's buffers, used for one batch after another.
template <class Key>
struct BatchScratch {
  BatchScratch(const Folds& folds, bool counted) : groups(folds, counted), merged(folds, counted) {}

  GroupTotals<Key> groups;                      ///< of a batch
  GroupTotals<Key> merged;                      ///< of a partition
  std::uint32_t dense[kDense];                  ///< 1 + the number of a key, by its place
  std::uint16_t left[kBatch];                   ///< the rows that belong to no total
  std::uint16_t partitions_of_entries[kBatch];  ///< the partition of each entry
  std::uint32_t numbers[kBlock];
  std::int64_t at[kBlock];
  std::int64_t places[kBlock];
  std::uint32_t to[kBlock];
};

template <class Key>
class GroupsOfBatches {
 public:
  GroupsOfBatches(Call& call, const Policy& policy, Adapts adapts)
      : call_(call),
        interruption_(call.go_on),
        folds_(folds_of(call)),
        shape_{folds_.size, is_counted()},
        adapts_(adapts == Adapts::yes),
        workers_(cpu::worker_count(policy.threads)),
        batches_(cpu::ceil_div(call.n, kBatch)),
        keys_(static_cast<const Key*>(call.keys)),
        values_(static_cast<const std::byte*>(call.in)),
        value_size_(size_of(call.in_type)),
        sign_(is_signed(call.key_type) ? static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1)) : Key{0}),
        scratches_(static_cast<std::size_t>(workers_)),
        entries_(static_cast<std::size_t>(batches_)),
        new_groups_(static_cast<std::size_t>(batches_)),
        slabs_(call.n, shape_) {}

  Status run() {
    if (adapts_ && batches_ <= 1) return run_small();
    for (std::int64_t first = 0; first < batches_;) {
      const std::int64_t end = fold_batches(first);
      if (interruption_.is_stopped()) return kInterrupted;
      const bool are_all = first == 0 && end == batches_;
      if (are_all && !in_partitions_ && pending_ <= kAlone) return merge_alone();
      merge_batches(first, end);
      if (interruption_.is_stopped()) return kInterrupted;
      if (end == batches_) return write(first);
      for (std::int64_t i = first; i < end; ++i) entry(i) = {};
      slabs_.clear();
      first = end;
    }
    return {};
  }

 private:
  [[nodiscard]] bool is_counted() const { return call_.out_counts != nullptr; }
  Entries<Key>& entry(std::int64_t batch) { return entries_[static_cast<std::size_t>(batch)]; }
  KnownGroups<Key>& known(std::int64_t partition) { return known_[static_cast<std::size_t>(partition)]; }

  void set_partitions(std::int64_t entries) {
    const auto wanted = static_cast<std::uint64_t>(std::clamp<std::int64_t>(entries / kEntries, 1, kMostPartitions));
    bits_ = std::countr_zero(std::bit_ceil(wanted));
  }
  [[nodiscard]] std::int64_t partitions() const { return std::int64_t{1} << bits_; }
  /// Uses the first bits of the hash, because tables use the last.
  [[nodiscard]] std::uint16_t partition_of(Key key) const {
    return static_cast<std::uint16_t>(bits_ == 0 ? 0 : hash_of_key(by_, key) >> (64 - bits_));
  }

  BatchScratch<Key>& scratch_of(int worker) {
    auto& scratch = scratches_[static_cast<std::size_t>(worker)];
    if (scratch == nullptr) scratch = std::make_unique<BatchScratch<Key>>(folds_, is_counted());
    return *scratch;
  }
  /// Calls work(i, scratch) for i from `first` to `end`, in any order on any thread, while goes_on() is true and the
  /// call is not interrupted. Returns the end of the processed range.
  template <class GoesOn, class Work>
  std::int64_t each_while(GoesOn goes_on, std::int64_t first, std::int64_t end, Work work) {
    std::atomic<std::int64_t> ticket{first};
    const auto workers = static_cast<int>(std::clamp<std::int64_t>(end - first, 1, workers_));
    cpu::run_allocating_workers(workers, [&](int worker) {
      while (goes_on() && interruption_.goes_on()) {
        const std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
        if (mine >= end) return;
        work(mine, scratch_of(worker));
      }
    });
    return std::min(ticket.load(std::memory_order_relaxed), end);
  }
  template <class Work>
  void each(std::int64_t first, std::int64_t end, Work work) {
    (void)each_while([] { return true; }, first, end, work);
  }

  /// Groups all rows by a single table.
  Status run_small() {
    GroupTotals<Key> all(folds_, is_counted());
    all.add(keys_, values_, value_size_, 0, call_.n);
    return write_in_order(call_, folds_, all);
  }

  // ------------------------------------------------------------------------------------------------- a batch's entries

  /// Makes entries of batches from `first` on, until there are enough for a merge. Returns the end of these batches.
  std::int64_t fold_batches(std::int64_t first) {
    pending_ = 0;
    in_partitions_ = false;
    set_partitions(call_.n);
    std::int64_t enough = std::max({kLeastMerged, kLeastMergedByThread * workers_, kMergedByGroup * known_groups_});
    for (std::int64_t end = first;;) {
      end = each_while([&] { return pending_ < enough; }, end, batches_,
                       [&](std::int64_t i, auto& scratch) { fold_batch(i, scratch); });
      if (end == batches_ || interruption_.is_stopped()) return end;
      const std::int64_t before = enough;
      // If most keys are new, the merge is delayed, because the next merge reads the groups again. So it is near the
      // end.
      if (in_partitions_) enough = std::max(enough, kMergedByGroup * estimated_groups(first, end));
      if ((batches_ - end) * kBatch < enough / 2) enough = std::numeric_limits<std::int64_t>::max();
      if (enough / 5 * 4 < before) return end;
    }
  }

  /// Estimates the number of groups after a merge, from the groups of one partition.
  std::int64_t estimated_groups(std::int64_t first, std::int64_t end) {
    GroupTotals<Key>& groups = scratch_of(0).merged;
    groups.clear();
    if (known_bits_ == bits_ && !known_.empty()) merge_known(groups, known(0));
    for (std::int64_t i = first; i < end; ++i) {
      if (!entry(i).begins.empty()) merge(groups, i, 0, entry(i).begins[1]);
    }
    return groups.size() * partitions();
  }

  struct Batch {
    std::int64_t first;
    std::int64_t count;
    const std::byte* values;
  };
  [[nodiscard]] Batch batch(std::int64_t i) const {
    const std::int64_t first = i * kBatch;
    return {first, std::min(kBatch, call_.n - first), values_ + first * value_size_};
  }

  void fold_batch(std::int64_t i, BatchScratch<Key>& scratch) {
    const Batch rows = batch(i);
    GroupTotals<Key>& groups = scratch.groups;
    groups.clear();
    std::int64_t at = 0;
    std::int64_t left = 0;
    if (adapts_) {
      at = fold_dense(rows, scratch);
      if (at > 0 && at < rows.count) groups.table.find_added(kBlock);
      while (at < rows.count && groups.size() + kBlock <= kMostKeys) {
        const std::int64_t count = std::min(kBlock, rows.count - at);
        groups.add(keys_ + rows.first + at, rows.values + at * value_size_, value_size_, rows.first + at, count);
        at += count;
      }
      at = fold_known(rows, at, left, scratch);
    }
    for (; at < rows.count; ++at) scratch.left[left++] = static_cast<std::uint16_t>(at);
    if (left > 0) return partition_batch(i, left, scratch);
    keep_totals(i, scratch);
  }

  /// Folds the first rows, block by block, while their keys are so near one another that a table by place holds them.
  /// Returns the number of these rows.
  std::int64_t fold_dense(const Batch& rows, BatchScratch<Key>& scratch) {
    GroupTotals<Key>& groups = scratch.groups;
    Key least = 0;
    // [guide: dense]
    for (std::int64_t at = 0; at < rows.count;) {
      const std::int64_t count = std::min(kBlock, rows.count - at);
      const Key* const keys = keys_ + rows.first + at;
      const auto [low, high] = range_of(keys, count);
      if (at == 0) {
        if (static_cast<std::uint64_t>(high - low) >= kDense) return 0;
        const std::uint64_t before = (kDense - static_cast<std::uint64_t>(high - low)) / 2;
        least = low < before ? Key{0} : static_cast<Key>(low - before);  // later keys may be on both sides
        std::fill_n(scratch.dense, kDense, 0);
      }
      if (low < least || static_cast<std::uint64_t>(high - least) >= kDense) return at;
      groups.table.reserve_keys(count);
      for (std::int64_t i = 0; i < count; ++i) {
        std::uint32_t& number = scratch.dense[static_cast<Key>((keys[i] ^ sign_) - least)];
        if (number == 0) number = groups.table.add(keys[i], rows.first + at + i) + 1;
        scratch.numbers[i] = number - 1;
      }
      groups.fold(rows.values + at * value_size_, scratch.numbers, count);
      at += count;
    }
    // [guide: end]
    return rows.count;
  }

  struct KeyRange {
    Key low;
    Key high;
  };
  /// Returns the range of n keys, in the order of the keys' own type.
  KeyRange range_of(const Key* keys, std::int64_t n) const {
    KeyRange range{static_cast<Key>(keys[0] ^ sign_), static_cast<Key>(keys[0] ^ sign_)};
    for (std::int64_t i = 1; i < n; ++i) {
      const auto key = static_cast<Key>(keys[i] ^ sign_);
      range.low = key < range.low ? key : range.low;
      range.high = key > range.high ? key : range.high;
    }
    return range;
  }

  /// Processes the rows from `at` on with a full table: folds rows whose key is in the table, and leaves the others.
  /// Returns the row at which this is no longer worth it.
  std::int64_t fold_known(const Batch& rows, std::int64_t at, std::int64_t& left, BatchScratch<Key>& scratch) {
    while (at < rows.count) {
      const std::int64_t count = std::min(kBlock, rows.count - at);
      scratch.groups.table.find(keys_ + rows.first + at, count, scratch.numbers);
      std::int64_t known = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const bool is_known = scratch.numbers[i] != kNone;
        scratch.left[left] = static_cast<std::uint16_t>(at + i);
        left += is_known ? 0 : 1;
        scratch.at[known] = at + i;
        scratch.numbers[known] = scratch.numbers[i];
        known += is_known ? 1 : 0;
      }
      scratch.groups.fold_at(rows.values, scratch.at, scratch.numbers, known);
      at += count;
      if (known * kWorthOneOf < count) break;
    }
    return at;
  }

  /// Stores the few entries of a batch that has only totals: in separate memory, and not yet in partitions.
  void keep_totals(std::int64_t i, BatchScratch<Key>& scratch) {
    const GroupTotals<Key>& groups = scratch.groups;
    Entries<Key>& to = entry(i);
    to.allocate(groups.size(), shape_);
    pending_ += to.count;
    std::copy_n(groups.table.keys(), to.count, to.keys);
    for (std::int64_t g = 0; g < to.count; ++g) {
      to.rows[g] = static_cast<std::uint16_t>(groups.table.firsts()[g] - i * kBatch);
    }
    if (to.count > 0) std::memcpy(to.totals, groups.totals(), static_cast<std::size_t>(to.count * folds_.size));
    if (is_counted()) std::copy_n(groups.counts(), to.count, to.counts);
  }

  /// begins ← where each partition of the entries begins, and the end. `partitions_of_entries` has the partition of
  /// each.
  void begin_partitions(Entries<Key>& of, const std::uint16_t* partitions_of_entries) const {
    of.begins.assign(static_cast<std::size_t>(partitions()) + 1, 0);
    for (std::int64_t e = 0; e < of.count; ++e) ++of.begins[partitions_of_entries[e]];
    std::uint32_t begin = 0;
    for (std::uint32_t& one : of.begins) {
      const std::uint32_t count = one;
      one = begin;
      begin += count;
    }
  }

  /// Stores the batch's totals, and after them its remaining rows, in a slab.
  void partition_batch(std::int64_t i, std::int64_t left, BatchScratch<Key>& scratch) {
    const Batch rows = batch(i);
    const GroupTotals<Key>& groups = scratch.groups;
    const std::int64_t totals = groups.size();
    Entries<Key>& to = entry(i);
    slabs_.take(to, totals + left);
    pending_ += to.count + partitions();  // the beginnings of partitions also need memory
    in_partitions_ = true;
    const Key* const keys = keys_ + rows.first;
    for (std::int64_t g = 0; g < totals; ++g) scratch.partitions_of_entries[g] = partition_of(groups.table.keys()[g]);
    for (std::int64_t k = 0; k < left; ++k)
      scratch.partitions_of_entries[totals + k] = partition_of(keys[scratch.left[k]]);
    begin_partitions(to, scratch.partitions_of_entries);
    auto next = to.begins;
    put_totals(to, groups, i, scratch.partitions_of_entries, next.data(), scratch.to);
    for (std::int64_t at = 0; at < left; at += kBlock) {
      const std::int64_t count = std::min(kBlock, left - at);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::uint16_t row = scratch.left[at + k];
        const std::uint32_t place = next[scratch.partitions_of_entries[totals + at + k]]++;
        to.keys[place] = keys[row];
        to.rows[place] = row;
        scratch.at[k] = row;
        scratch.to[k] = place;
      }
      folds_.lift(rows.values, scratch.at, scratch.to, count, to.totals);
      if (!is_counted()) continue;
      for (std::int64_t k = 0; k < count; ++k) to.counts[scratch.to[k]] = 1;
    }
  }

  void put_totals(Entries<Key>& to, const GroupTotals<Key>& groups, std::int64_t i,
                  const std::uint16_t* partitions_of_entries, std::uint32_t* next, std::uint32_t* places) const {
    for (std::int64_t at = 0; at < groups.size(); at += kBlock) {
      const std::int64_t count = std::min(kBlock, groups.size() - at);
      for (std::int64_t g = 0; g < count; ++g) {
        const std::uint32_t place = next[partitions_of_entries[at + g]]++;
        to.keys[place] = groups.table.keys()[at + g];
        to.rows[place] = static_cast<std::uint16_t>(groups.table.firsts()[at + g] - i * kBatch);
        places[g] = place;
      }
      folds_.move(groups.totals() + at * folds_.size, places, count, to.totals);
      if (!is_counted()) continue;
      for (std::int64_t g = 0; g < count; ++g) to.counts[places[g]] = groups.counts()[at + g];
    }
  }

  /// Moves the entries of keep_totals() into partitions.
  void partition_totals(std::int64_t i, BatchScratch<Key>& scratch) {
    Entries<Key>& to = entry(i);
    const Entries<Key> from = std::exchange(to, {});
    to.allocate(from.count, shape_);
    for (std::int64_t e = 0; e < from.count; ++e) scratch.partitions_of_entries[e] = partition_of(from.keys[e]);
    begin_partitions(to, scratch.partitions_of_entries);
    auto next = to.begins;
    for (std::int64_t at = 0; at < from.count; at += kBlock) {
      const std::int64_t count = std::min(kBlock, from.count - at);
      for (std::int64_t e = 0; e < count; ++e) {
        const std::uint32_t place = next[scratch.partitions_of_entries[at + e]]++;
        to.keys[place] = from.keys[at + e];
        to.rows[place] = from.rows[at + e];
        scratch.to[e] = place;
      }
      folds_.move(from.totals + at * folds_.size, scratch.to, count, to.totals);
      if (!is_counted()) continue;
      for (std::int64_t e = 0; e < count; ++e) to.counts[scratch.to[e]] = from.counts[at + e];
    }
  }

  // ------------------------------------------------------------------------------------------------- entries to groups

  /// Merges the entries [begin, end) of batch i.
  void merge(GroupTotals<Key>& groups, std::int64_t i, std::int64_t begin, std::int64_t end) {
    const Entries<Key>& from = entry(i);
    groups.merge(from.keys + begin, from.totals + begin * folds_.size,
                 from.counts == nullptr ? nullptr : from.counts + begin, end - begin,
                 [&](std::int64_t e) { return i * kBatch + from.rows[begin + e]; });
  }

  /// Merges all entries into one table, if there are few.
  Status merge_alone() {
    GroupTotals<Key> all(folds_, is_counted());
    for (std::int64_t i = 0; i < batches_; ++i) merge(all, i, 0, entry(i).count);
    return write_in_order(call_, folds_, all);
  }

  void merge_known(GroupTotals<Key>& groups, const KnownGroups<Key>& from) {
    groups.merge(from.keys, from.totals, from.counts, from.count, [&](std::int64_t g) { return from.rows[g]; });
  }

  /// Merges the entries of these batches and the known groups. All groups are then known, or, if these are the last
  /// batches, ready to be written.
  void merge_batches(std::int64_t first, std::int64_t end) {
    if (!in_partitions_) {
      set_partitions(pending_);
      bits_ = std::max(bits_, known_bits_);
    }
    split_known();
    each(first, end, [&](std::int64_t i, auto& scratch) {
      if (entry(i).begins.empty()) partition_totals(i, scratch);
      if (end == batches_) entry(i).groups.resize(static_cast<std::size_t>(partitions()));
    });
    each(0, partitions(), [&](std::int64_t p, auto& scratch) {
      GroupTotals<Key>& groups = scratch.merged;
      groups.clear();
      merge_known(groups, known(p));
      const auto at = static_cast<std::size_t>(p);
      for (std::int64_t i = first; i < end; ++i) merge(groups, i, entry(i).begins[at], entry(i).begins[at + 1]);
      if (end == batches_) return leave(groups, p, first);
      keep(groups, p);
    });
    known_groups_ = 0;
    for (const auto& partition : known_) known_groups_ += partition.count;
  }

  /// Splits the known groups into the partitions of the entries.
  void split_known() {
    const std::int64_t more = partitions() >> known_bits_;
    if (known_.empty() || more > 1) {
      std::vector<KnownGroups<Key>> split(static_cast<std::size_t>(partitions()));
      each(0, std::ssize(known_), [&](std::int64_t p, auto&) {
        split_partition(known(p),
                        std::span(split).subspan(static_cast<std::size_t>(p * more), static_cast<std::size_t>(more)));
      });
      known_ = std::move(split);
    }
    known_bits_ = bits_;
  }
  void split_partition(KnownGroups<Key>& from, std::span<KnownGroups<Key>> to) {
    const auto to_of = [&](std::int64_t g) -> KnownGroups<Key>& { return to[partition_of(from.keys[g]) % to.size()]; };
    for (std::int64_t g = 0; g < from.count; ++g) ++to_of(g).count;
    for (auto& one : to) {
      one.allocate(one.count, shape_);
      one.count = 0;
    }
    for (std::int64_t g = 0; g < from.count; ++g) {
      KnownGroups<Key>& one = to_of(g);
      const std::int64_t at = one.count++;
      one.keys[at] = from.keys[g];
      one.rows[at] = from.rows[g];
      std::memcpy(one.totals + at * folds_.size, from.totals + g * folds_.size, static_cast<std::size_t>(folds_.size));
      if (is_counted()) one.counts[at] = from.counts[g];
    }
    from = {};
  }

  /// Makes all groups of a partition known.
  void keep(const GroupTotals<Key>& groups, std::int64_t p) {
    KnownGroups<Key>& to = known(p);
    const std::int64_t before = to.count;
    const std::int64_t size = groups.size();
    if (size > before) {
      to.allocate(size, shape_);
      std::copy_n(groups.table.keys(), size, to.keys);
      std::copy_n(groups.table.firsts(), size, to.rows);
    }
    copy_totals(groups, 0, size, to.totals, to.counts);
    for (std::int64_t g = before; g < size;) {
      const std::int64_t first = g;
      const std::int64_t batch = to.rows[g] / kBatch;
      while (g < size && to.rows[g] / kBatch == batch) ++g;
      std::atomic_ref(new_groups_[static_cast<std::size_t>(batch)]).fetch_add(g - first, std::memory_order_relaxed);
    }
  }

  /// Leaves known groups of a partition where they are. Writes new groups over the partition's entries in the batch in
  /// which they were first seen; `first` is the first of these batches.
  void leave(const GroupTotals<Key>& groups, std::int64_t p, std::int64_t first) {
    std::int64_t g = known(p).count;
    copy_totals(groups, 0, g, known(p).totals, known(p).counts);
    const Table<Key>& table = groups.table;
    const auto at = static_cast<std::size_t>(p);
    for (std::int64_t i = first; i < batches_; ++i) {
      Entries<Key>& to = entry(i);
      const std::int64_t begin = to.begins[at];
      const std::int64_t before = g;
      for (; g < table.size() && table.firsts()[g] < (i + 1) * kBatch; ++g) {
        to.keys[begin + g - before] = table.keys()[g];
        to.rows[begin + g - before] = static_cast<std::uint16_t>(table.firsts()[g]);
      }
      to.groups[at] = static_cast<std::uint32_t>(g - before);
      copy_totals(groups, before, g, to.totals + begin * folds_.size, is_counted() ? to.counts + begin : nullptr);
    }
  }

  /// Copies the totals and counts of groups [begin, end).
  void copy_totals(const GroupTotals<Key>& from, std::int64_t begin, std::int64_t end, std::byte* totals,
                   std::int64_t* counts) const {
    if (begin == end) return;
    std::memcpy(totals, from.totals() + begin * folds_.size, static_cast<std::size_t>((end - begin) * folds_.size));
    if (is_counted()) std::copy_n(from.counts() + begin, end - begin, counts);
  }

  // --------------------------------------------------------------------------------------------- groups to the outputs

  /// Writes all groups. `last` is the first batch of the last merge.
  Status write(std::int64_t last) {
    for (std::int64_t i = last; i < batches_; ++i) {
      for (const std::uint32_t count : entry(i).groups) new_groups_[static_cast<std::size_t>(i)] += count;
    }
    std::vector<std::int64_t> befores;
    std::int64_t groups = 0;
    for (const std::int64_t count : new_groups_) {
      befores.push_back(groups);
      groups += count;
    }
    befores.push_back(groups);
    call_.groups = groups;
    if (groups > capacity_of(call_)) return {Code::unequal_lengths};
    std::vector<Bad> bad(entries_.size());
    write_known(last, befores.data(), bad.data());
    each(last, batches_, [&](std::int64_t i, auto& scratch) {
      const Entries<Key>& from = entry(i);
      bad[static_cast<std::size_t>(i)] =
          write_batch(i, befores[static_cast<std::size_t>(i)], scratch, [&](std::int64_t p) {
            const auto at = static_cast<std::size_t>(p);
            return Seen<std::uint16_t>{from, from.begins[at], from.groups[at]};
          });
    });
    return interruption_.is_stopped() ? kInterrupted : outcome(call_, bad.data(), batches_);
  }

  /// Writes the groups first seen before batch `end`.
  void write_known(std::int64_t end, const std::int64_t* befores, Bad* bad) {
    const std::int64_t length = std::clamp<std::int64_t>(end / (std::int64_t{8} * workers_), 1, kMostWritten);
    each(0, cpu::ceil_div(end, length), [&](std::int64_t work_unit, auto& scratch) {
      const std::int64_t first = work_unit * length;
      const std::int64_t last = std::min(first + length, end);
      if (befores[first] == befores[last]) return;
      std::vector<std::int64_t> ends(known_.size());
      for (std::size_t p = 0; p < ends.size(); ++p) {
        const KnownGroups<Key>& from = known_[p];
        ends[p] = std::lower_bound(from.rows, from.rows + from.count, first * kBatch) - from.rows;
      }
      std::vector<std::int64_t> begins(ends.size());
      for (std::int64_t i = first; i < last; ++i) {
        if (befores[i] == befores[i + 1]) continue;
        for (std::size_t p = 0; p < ends.size(); ++p) {
          const KnownGroups<Key>& from = known_[p];
          begins[p] = ends[p];
          while (ends[p] < from.count && from.rows[ends[p]] < (i + 1) * kBatch) ++ends[p];
        }
        bad[i] = write_batch(i, befores[i], scratch, [&](std::int64_t p) {
          const auto at = static_cast<std::size_t>(p);
          return Seen<std::int64_t>{known_[at], begins[at], ends[at] - begins[at]};
        });
      }
    });
  }

  /// The groups of a partition that were first seen in one batch.
  template <class Row>
  struct Seen {
    const Arrays<Key, Row>& in;
    std::int64_t begin;
    std::int64_t count;

    [[nodiscard]] std::uint16_t row(std::int64_t g) const { return static_cast<std::uint16_t>(in.rows[begin + g]); }
  };

  /// Writes the groups that were first seen in batch i, after `before` earlier ones. seen(p) returns those of partition
  /// p.
  template <class SeenOf>
  Bad write_batch(std::int64_t i, std::int64_t before, BatchScratch<Key>& scratch, SeenOf seen) {
    constexpr std::int64_t kWords = kBatch / 64;
    // [guide: order]
    std::uint64_t bits[kWords] = {};
    for (std::int64_t p = 0; p < partitions(); ++p) {
      const auto groups = seen(p);
      for (std::int64_t g = 0; g < groups.count; ++g) {
        bits[groups.row(g) / 64] |= std::uint64_t{1} << groups.row(g) % 64;
      }
    }
    std::int64_t ranks[kWords];
    for (std::int64_t w = 0; w < kWords; ++w) {
      ranks[w] = before;
      before += std::popcount(bits[w]);
    }
    const auto place_of = [&](std::uint16_t row) {
      const std::uint64_t lower = (std::uint64_t{1} << row % 64) - 1;
      return ranks[row / 64] + std::popcount(bits[row / 64] & lower);
    };
    // [guide: end]
    Bad bad;
    for (std::int64_t p = 0; p < partitions(); ++p) {
      const auto groups = seen(p);
      for (std::int64_t at = 0; at < groups.count; at += kBlock) {
        const std::int64_t begin = groups.begin + at;
        const std::int64_t count = std::min(kBlock, groups.count - at);
        for (std::int64_t g = 0; g < count; ++g) scratch.places[g] = place_of(groups.row(at + g));
        const Written<Key> written{groups.in.keys + begin, groups.in.totals + begin * folds_.size, scratch.places};
        const std::int64_t worst = write_groups(call_, folds_, written, count);
        for (std::int64_t g = 0; is_counted() && g < count; ++g) {
          call_.out_counts[scratch.places[g]] = groups.in.counts[begin + g];
        }
        if (worst != kNoIndex) bad.add(scratch.places[worst], i * kBatch + groups.row(at + worst));
      }
    }
    return bad;
  }

  Call& call_;
  Interruption interruption_;
  Folds folds_;
  EntryShape shape_;
  bool adapts_;
  int workers_;
  std::int64_t batches_;
  const Key* keys_;
  const std::byte* values_;
  int value_size_;
  Key sign_;  ///< the bit to flip so that signed keys are ordered as unsigned ones
  Secret by_ = secret();
  std::vector<std::unique_ptr<BatchScratch<Key>>> scratches_;  ///< of each worker
  int bits_ = 0;                                               ///< number of hash bits that give an entry's partition

  // For the batches of the next merge:
  std::vector<Entries<Key>> entries_;  ///< by batch; empty for all other batches
  std::atomic<std::int64_t> pending_{0};
  std::atomic<bool> in_partitions_{false};  ///< some batches are in partitions

  std::vector<KnownGroups<Key>> known_;  ///< by partition
  int known_bits_ = 0;
  std::int64_t known_groups_ = 0;
  std::vector<std::int64_t> new_groups_;  ///< by batch: the number of groups first seen there
  Slabs<Key> slabs_;
};

}  // namespace

Status run_batches(Call& call, const Policy& policy, Adapts adapts) noexcept try {
  return visit_key(call.key_type, [&]<class Key>(std::type_identity<Key>) {
    return GroupsOfBatches<Key>(call, policy, adapts).run();
  });
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::group_by
