// SPDX-License-Identifier: Apache-2.0
// group/pieces.cpp: pieces of the rows become entries, entries go into partitions by the hashes of their keys, each partition
// becomes groups, and groups are written in the order of their first rows.
//
// An entry is a key, the row where it was first seen, and what the piece has of it: a row, or the total of some. Entries of a
// piece lie in its part of a slab, partition after partition, and in each in the order of their rows. A partition reads its
// entries piece by piece, so that its groups come in the order of their first rows too; it leaves them where it has read the
// entries of the piece in which they were first seen. So the groups of a piece are the first ones in each of its partitions, and
// a piece writes them in order by a bit for each of its rows. What becomes an entry depends on the piece's keys alone: the order
// of additions is that of the pieces whichever threads do them.
#include "group/pieces.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "core/interruption.hpp"
#include "cpu/pages.hpp"
#include "cpu/parallel.hpp"
#include "cpu/segments.hpp"
#include "group/answer.hpp"
#include "group/folds.hpp"
#include "group/table.hpp"

namespace upsweep::grouping {
namespace {

/// Rows of a piece: their numbers in it have 16 bits, and keys and values of 8 bytes fit a second cache of 1 MB.
constexpr std::int64_t kPiece = 65536;
/// Keys that a piece's table may have, a sixteenth of its rows: table and totals stay in the second cache.
constexpr std::int64_t kMostKeys = 4096;
/// Keys between which there are fewer than so many find their numbers by their place.
constexpr std::uint64_t kDense = 8192;
/// A full table is looked into as long as it has one of so many of a block's rows: a look costs about a quarter of what an
/// entry does.
constexpr std::int64_t kWorthOneOf = 4;
/// Entries of a partition, if all keys differ: so many groups fit the second cache, and half as many
constexpr std::int64_t kEntries = 65536;
/// A piece writes to so many places at a time, in lines that stay in the second cache.
constexpr std::int64_t kMostPartitions = 2048;
/// Entries that one thread merges sooner than others come to help.
constexpr std::int64_t kAlone = 16384;
/// Pieces whose entries share a slab, 4 million rows: its arrays of 8 to 64 MB are on huge pages, and a call of 2^32 rows maps a
/// few thousand of them at most.
constexpr std::int64_t kSlabPieces = 64;

/// Entries of a piece, in its part of a slab or in memory of their own.
template <class Key>
struct Entries {
  Key* keys = nullptr;
  std::uint16_t* rows = nullptr;  ///< counted from the piece's first
  std::byte* totals = nullptr;
  std::int64_t* counts = nullptr;  ///< where they are asked for
  std::int64_t count = 0;
  std::unique_ptr<std::byte[]> own = {};
  std::vector<std::uint32_t> begins = {};  ///< of each partition, and the end; empty: not in partitions
  std::vector<std::uint32_t> groups = {};  ///< of each partition: first seen in this piece
};

/// Memory for the entries of kSlabPieces pieces, if all their rows become some: mapped when the first piece needs it, so that
/// rows that are folded where they are need none.
template <class Key>
class Slab {
 public:
  /// From any thread. Throws std::bad_alloc.
  void reserve(std::int64_t entries, std::int64_t total_size, bool counted) {
    std::call_once(reserved_, [&] {
      keys = cpu::Pages<Key>(entries);
      rows = cpu::Pages<std::uint16_t>(entries);
      totals = cpu::Pages<std::byte>(entries * total_size);
      if (counted) counts = cpu::Pages<std::int64_t>(entries);
    });
  }

  cpu::Pages<Key> keys;
  cpu::Pages<std::uint16_t> rows;
  cpu::Pages<std::byte> totals;
  cpu::Pages<std::int64_t> counts;

 private:
  std::once_flag reserved_;
};

/// What a thread works with, piece after piece.
template <class Key>
struct Scratch {
  Scratch(const Folds& folds, bool counted) : groups(folds, counted) {}

  Groups<Key> groups;
  std::uint32_t dense[kDense];  ///< numbers and 1 by the place of a key
  std::uint16_t left[kPiece];   ///< the rows that are no total's
  std::uint16_t parts[kPiece];  ///< the partition of each entry
  std::uint32_t numbers[kBlock];
  std::int64_t at[kBlock];
  std::int64_t places[kBlock];
  std::uint32_t to[kBlock];
};

template <class Key>
class Pieces {
 public:
  Pieces(Call& call, const Policy& policy, Adapts adapts)
      : call_(call),
        interruption_(call.go_on),
        folds_(folds_of(call)),
        adapts_(adapts == Adapts::yes),
        threads_(policy.threads),
        pieces_(cpu::parts(call.n, kPiece)),
        keys_(static_cast<const Key*>(call.keys)),
        values_(static_cast<const std::byte*>(call.in)),
        value_size_(size_of(call.in_type)),
        sign_(is_signed(call.key_type) ? static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1)) : Key{0}),
        entries_(static_cast<std::size_t>(pieces_)),
        slabs_(std::make_unique<Slab<Key>[]>(static_cast<std::size_t>(cpu::parts(pieces_, kSlabPieces)))) {
    set_partitions(call.n);
  }

  Status run() {
    if (adapts_ && pieces_ <= 1) return run_small();
    each(pieces_, [&](std::int64_t i, auto& scratch) { fold_piece(i, scratch); });
    if (interruption_.is_stopped()) return kInterrupted;
    std::int64_t entries = 0;
    bool in_partitions = false;
    for (const auto& piece : entries_) {
      entries += piece.count;
      in_partitions = in_partitions || !piece.begins.empty();
    }
    if (!in_partitions) {
      if (entries <= kAlone) return merge_alone();
      set_partitions(entries);
    }
    each(pieces_, [&](std::int64_t i, auto& scratch) {
      if (entry(i).begins.empty()) partition_totals(i, scratch);
      entry(i).groups.resize(static_cast<std::size_t>(partitions_));
    });
    each(partitions_, [&](std::int64_t p, auto& scratch) { merge_partition(p, scratch.groups); });
    if (interruption_.is_stopped()) return kInterrupted;
    return write();
  }

 private:
  [[nodiscard]] bool is_counted() const { return call_.out_counts != nullptr; }
  Entries<Key>& entry(std::int64_t piece) { return entries_[static_cast<std::size_t>(piece)]; }

  void set_partitions(std::int64_t entries) {
    const auto wanted = static_cast<std::uint64_t>(std::clamp<std::int64_t>(entries / kEntries, 1, kMostPartitions));
    partitions_ = static_cast<std::int64_t>(std::bit_ceil(wanted));
    bits_ = std::countr_zero(std::bit_ceil(wanted));
  }
  /// By the first bits of the hash: tables look for keys by the last.
  [[nodiscard]] std::uint16_t part_of(Key key) const {
    return static_cast<std::uint16_t>(bits_ == 0 ? 0 : hash_of_key(by_, key) >> (64 - bits_));
  }

  /// work(i, scratch) of each, in any order on any thread, as long as the call is to go on.
  template <class Work>
  void each(std::int64_t count, Work work) {
    std::atomic<std::int64_t> ticket{0};
    cpu::run_allocating_workers(cpu::workers_for(count, 1, threads_), [&](int) {
      std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
      if (mine >= count) return;
      const auto scratch = std::make_unique<Scratch<Key>>(folds_, is_counted());
      for (; mine < count && interruption_.goes_on(); mine = ticket.fetch_add(1, std::memory_order_relaxed)) {
        work(mine, *scratch);
      }
    });
  }

  /// One table of all rows.
  Status run_small() {
    Groups<Key> all(folds_, is_counted());
    all.add(keys_, values_, value_size_, 0, call_.n);
    return write_in_order(call_, folds_, all);
  }

  // ---------------------------------------------------------------------------------------------------- a piece's entries

  struct Piece {
    std::int64_t first;
    std::int64_t count;
    const std::byte* values;
  };
  [[nodiscard]] Piece piece(std::int64_t i) const {
    const std::int64_t first = i * kPiece;
    return {first, std::min(kPiece, call_.n - first), values_ + first * value_size_};
  }

  void fold_piece(std::int64_t i, Scratch<Key>& scratch) {
    const Piece rows = piece(i);
    Groups<Key>& groups = scratch.groups;
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
    if (left > 0) return partition_piece(i, left, scratch);
    keep_totals(i, scratch);
  }

  /// The rows from the first on, block by block, whose keys are so near one another that a table by their place holds them.
  /// Returns how many.
  std::int64_t fold_dense(const Piece& rows, Scratch<Key>& scratch) {
    Groups<Key>& groups = scratch.groups;
    Key least = 0;
    // [guide: dense]
    for (std::int64_t at = 0; at < rows.count;) {
      const std::int64_t count = std::min(kBlock, rows.count - at);
      const Key* const keys = keys_ + rows.first + at;
      const auto [low, high] = range_of(keys, count);
      if (at == 0) {
        if (static_cast<std::uint64_t>(high - low) >= kDense) return 0;
        const std::uint64_t before = (kDense - static_cast<std::uint64_t>(high - low)) / 2;
        least = low < before ? Key{0} : static_cast<Key>(low - before);  // keys to come may be on both sides
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
  /// In the order of the keys' own type.
  KeyRange range_of(const Key* keys, std::int64_t n) const {
    KeyRange range{static_cast<Key>(keys[0] ^ sign_), static_cast<Key>(keys[0] ^ sign_)};
    for (std::int64_t i = 1; i < n; ++i) {
      const auto key = static_cast<Key>(keys[i] ^ sign_);
      range.low = key < range.low ? key : range.low;
      range.high = key > range.high ? key : range.high;
    }
    return range;
  }

  /// The rows from `at` on, where the table is full: those of its keys are folded, others left. Returns where that is not worth
  /// it any more.
  std::int64_t fold_known(const Piece& rows, std::int64_t at, std::int64_t& left, Scratch<Key>& scratch) {
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

  /// The entries of a piece that has totals alone, which are few: in memory of their own, and not yet in partitions.
  void keep_totals(std::int64_t i, Scratch<Key>& scratch) {
    const Groups<Key>& groups = scratch.groups;
    Entries<Key>& to = entry(i);
    allocate(to, groups.size());
    std::copy_n(groups.table.keys(), to.count, to.keys);
    for (std::int64_t g = 0; g < to.count; ++g) {
      to.rows[g] = static_cast<std::uint16_t>(groups.table.firsts()[g] - i * kPiece);
    }
    if (to.count > 0) std::memcpy(to.totals, groups.totals(), static_cast<std::size_t>(to.count * folds_.size));
    if (is_counted()) std::copy_n(groups.counts(), to.count, to.counts);
  }

  void allocate(Entries<Key>& to, std::int64_t count) const {
    const auto up = [](std::int64_t bytes) { return (bytes + 15) / 16 * 16; };
    const std::int64_t totals = up(count * folds_.size);
    const std::int64_t counts = is_counted() ? up(count * 8) : 0;
    const std::int64_t keys = up(count * std::int64_t{sizeof(Key)});
    to.count = count;
    to.own = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(totals + counts + keys + count * std::int64_t{sizeof(std::uint16_t)}));
    to.totals = to.own.get();
    to.counts = reinterpret_cast<std::int64_t*>(to.own.get() + totals);
    to.keys = reinterpret_cast<Key*>(to.own.get() + totals + counts);
    to.rows = reinterpret_cast<std::uint16_t*>(to.own.get() + totals + counts + keys);
  }

  /// begins ← where each partition of the entries with these parts begins, and the end.
  void begin_partitions(Entries<Key>& of, const std::uint16_t* parts) const {
    of.begins.assign(static_cast<std::size_t>(partitions_) + 1, 0);
    for (std::int64_t e = 0; e < of.count; ++e) ++of.begins[parts[e]];
    std::uint32_t begin = 0;
    for (std::uint32_t& one : of.begins) {
      const std::uint32_t count = one;
      one = begin;
      begin += count;
    }
  }

  /// The piece's part of its slab.
  void use_slab(Entries<Key>& to, std::int64_t i) {
    const std::int64_t which = i / kSlabPieces;
    constexpr std::int64_t kRows = kSlabPieces * kPiece;
    Slab<Key>& slab = slabs_[static_cast<std::size_t>(which)];
    slab.reserve(std::min(kRows, call_.n - which * kRows), folds_.size, is_counted());
    const std::int64_t first = i % kSlabPieces * kPiece;
    to.keys = slab.keys.data() + first;
    to.rows = slab.rows.data() + first;
    to.totals = slab.totals.data() + first * folds_.size;
    to.counts = is_counted() ? slab.counts.data() + first : nullptr;
  }

  /// The piece's totals, and after them the rows that are left, into its part of its slab.
  void partition_piece(std::int64_t i, std::int64_t left, Scratch<Key>& scratch) {
    const Piece rows = piece(i);
    const Groups<Key>& groups = scratch.groups;
    const std::int64_t totals = groups.size();
    Entries<Key>& to = entry(i);
    use_slab(to, i);
    to.count = totals + left;
    const Key* const keys = keys_ + rows.first;
    for (std::int64_t g = 0; g < totals; ++g) scratch.parts[g] = part_of(groups.table.keys()[g]);
    for (std::int64_t k = 0; k < left; ++k) scratch.parts[totals + k] = part_of(keys[scratch.left[k]]);
    begin_partitions(to, scratch.parts);
    auto next = to.begins;
    put_totals(to, groups, i, scratch.parts, next.data(), scratch.to);
    for (std::int64_t at = 0; at < left; at += kBlock) {
      const std::int64_t count = std::min(kBlock, left - at);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::uint16_t row = scratch.left[at + k];
        const std::uint32_t place = next[scratch.parts[totals + at + k]]++;
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

  void put_totals(Entries<Key>& to, const Groups<Key>& groups, std::int64_t i, const std::uint16_t* parts,
                  std::uint32_t* next, std::uint32_t* places) const {
    for (std::int64_t at = 0; at < groups.size(); at += kBlock) {
      const std::int64_t count = std::min(kBlock, groups.size() - at);
      for (std::int64_t g = 0; g < count; ++g) {
        const std::uint32_t place = next[parts[at + g]]++;
        to.keys[place] = groups.table.keys()[at + g];
        to.rows[place] = static_cast<std::uint16_t>(groups.table.firsts()[at + g] - i * kPiece);
        places[g] = place;
      }
      folds_.move(groups.totals() + at * folds_.size, places, count, to.totals);
      if (!is_counted()) continue;
      for (std::int64_t g = 0; g < count; ++g) to.counts[places[g]] = groups.counts()[at + g];
    }
  }

  /// The entries that keep_totals() has left, in partitions.
  void partition_totals(std::int64_t i, Scratch<Key>& scratch) const {
    Entries<Key>& to = const_cast<Pieces*>(this)->entry(i);
    const Entries<Key> from = std::move(to);
    to = {};
    allocate(to, from.count);
    for (std::int64_t e = 0; e < from.count; ++e) scratch.parts[e] = part_of(from.keys[e]);
    begin_partitions(to, scratch.parts);
    auto next = to.begins;
    for (std::int64_t at = 0; at < from.count; at += kBlock) {
      const std::int64_t count = std::min(kBlock, from.count - at);
      for (std::int64_t e = 0; e < count; ++e) {
        const std::uint32_t place = next[scratch.parts[at + e]]++;
        to.keys[place] = from.keys[at + e];
        to.rows[place] = from.rows[at + e];
        scratch.to[e] = place;
      }
      folds_.move(from.totals + at * folds_.size, scratch.to, count, to.totals);
      if (!is_counted()) continue;
      for (std::int64_t e = 0; e < count; ++e) to.counts[scratch.to[e]] = from.counts[at + e];
    }
  }

  // --------------------------------------------------------------------------------------------------- entries to groups

  /// The entries [begin, end) of piece i.
  void merge(Groups<Key>& groups, std::int64_t i, std::int64_t begin, std::int64_t end) {
    const Entries<Key>& from = entry(i);
    groups.merge(from.keys + begin, from.totals + begin * folds_.size,
                 from.counts == nullptr ? nullptr : from.counts + begin, end - begin,
                 [&](std::int64_t e) { return i * kPiece + from.rows[begin + e]; });
  }

  /// All entries, which are few, into one table.
  Status merge_alone() {
    Groups<Key> all(folds_, is_counted());
    for (std::int64_t i = 0; i < pieces_; ++i) merge(all, i, 0, entry(i).count);
    return write_in_order(call_, folds_, all);
  }

  void merge_partition(std::int64_t p, Groups<Key>& groups) {
    groups.clear();
    const auto at = static_cast<std::size_t>(p);
    for (std::int64_t i = 0; i < pieces_; ++i) merge(groups, i, entry(i).begins[at], entry(i).begins[at + 1]);
    const Table<Key>& table = groups.table;
    std::int64_t g = 0;
    for (std::int64_t i = 0; i < pieces_; ++i) {
      Entries<Key>& to = entry(i);
      const std::int64_t begin = to.begins[at];
      const std::int64_t first = g;
      for (; g < table.size() && table.firsts()[g] < (i + 1) * kPiece; ++g) {
        to.keys[begin + g - first] = table.keys()[g];
        to.rows[begin + g - first] = static_cast<std::uint16_t>(table.firsts()[g] - i * kPiece);
      }
      to.groups[at] = static_cast<std::uint32_t>(g - first);
      if (g == first) continue;
      std::memcpy(to.totals + begin * folds_.size, groups.totals() + first * folds_.size,
                  static_cast<std::size_t>((g - first) * folds_.size));
      if (is_counted()) std::copy_n(groups.counts() + first, g - first, to.counts + begin);
    }
  }

  // ---------------------------------------------------------------------------------------------- groups to the outputs

  Status write() {
    std::vector<std::int64_t> befores;
    std::int64_t groups = 0;
    for (const auto& piece : entries_) {
      befores.push_back(groups);
      for (const std::uint32_t count : piece.groups) groups += count;
    }
    call_.groups = groups;
    if (groups > room_of(call_)) return {Code::unequal_lengths};
    std::vector<Bad> bad(entries_.size());
    each(pieces_, [&](std::int64_t i, auto& scratch) {
      bad[static_cast<std::size_t>(i)] = write_piece(i, befores[static_cast<std::size_t>(i)], scratch);
    });
    return interruption_.is_stopped() ? kInterrupted : outcome(call_, bad.data(), pieces_);
  }

  /// The groups that were first seen in piece i, `before` of which come first.
  Bad write_piece(std::int64_t i, std::int64_t before, Scratch<Key>& scratch) {
    const Entries<Key>& from = entry(i);
    constexpr std::int64_t kWords = kPiece / 64;
    // [guide: order]
    std::uint64_t bits[kWords] = {};
    for (std::size_t p = 0; p < from.groups.size(); ++p) {
      const std::uint16_t* const rows = from.rows + from.begins[p];
      for (std::uint32_t g = 0; g < from.groups[p]; ++g) bits[rows[g] / 64] |= std::uint64_t{1} << rows[g] % 64;
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
    for (std::size_t p = 0; p < from.groups.size(); ++p) {
      for (std::int64_t at = 0; at < from.groups[p]; at += kBlock) {
        const std::int64_t begin = from.begins[p] + at;
        const std::int64_t count = std::min(kBlock, from.groups[p] - at);
        for (std::int64_t g = 0; g < count; ++g) scratch.places[g] = place_of(from.rows[begin + g]);
        const Written<Key> groups{from.keys + begin, from.totals + begin * folds_.size, scratch.places};
        const std::int64_t worst = write_groups(call_, folds_, groups, count);
        for (std::int64_t g = 0; is_counted() && g < count; ++g) {
          call_.out_counts[scratch.places[g]] = from.counts[begin + g];
        }
        if (worst != kNoIndex) bad.add(scratch.places[worst], i * kPiece + from.rows[begin + worst]);
      }
    }
    return bad;
  }

  Call& call_;
  Interruption interruption_;
  Folds folds_;
  bool adapts_;
  int threads_;
  std::int64_t pieces_;
  const Key* keys_;
  const std::byte* values_;
  int value_size_;
  Key sign_;  ///< the bit that orders signed keys as unsigned ones
  Secret by_ = secret();
  std::int64_t partitions_ = 1;
  int bits_ = 0;
  std::vector<Entries<Key>> entries_;
  std::unique_ptr<Slab<Key>[]> slabs_;
};

}  // namespace

Status run_pieces(Call& call, const Policy& policy, Adapts adapts) noexcept try {
  return visit_key(call.key_type,
                   [&]<class Key>(std::type_identity<Key>) { return Pieces<Key>(call, policy, adapts).run(); });
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::grouping
