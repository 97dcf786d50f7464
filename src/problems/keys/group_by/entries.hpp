// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/entries.hpp: memory for entries of batches and for groups of partitions; see batches.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "system/pages.hpp"

namespace upsweep::impl::group_by {

/// The contents of an entry in addition to its key and its row.
struct EntryShape {
  int total_size;
  bool counted;
};

/// Entries of a batch, with rows counted from its first row, or groups of a partition, with rows of the call.
template <class Key, class Row>
struct Arrays {
  Key* keys = nullptr;
  Row* rows = nullptr;  ///< first rows
  std::byte* totals = nullptr;
  std::int64_t* counts = nullptr;  ///< null if not requested
  std::int64_t count = 0;
  std::unique_ptr<std::byte[]> own = {};

  /// Allocates separate memory. Throws std::bad_alloc.
  void allocate(std::int64_t n, const EntryShape& shape) {
    const auto aligned = [](std::int64_t bytes) { return (bytes + 15) / 16 * 16; };
    const std::int64_t totals_end = aligned(n * shape.total_size);
    const std::int64_t counts_end = totals_end + (shape.counted ? aligned(n * 8) : 0);
    const std::int64_t keys_end = counts_end + aligned(n * std::int64_t{sizeof(Key)});
    own =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(keys_end + n * std::int64_t{sizeof(Row)}));
    totals = own.get();
    counts = shape.counted ? reinterpret_cast<std::int64_t*>(own.get() + totals_end) : nullptr;
    keys = reinterpret_cast<Key*>(own.get() + counts_end);
    rows = reinterpret_cast<Row*>(own.get() + keys_end);
    count = n;
  }
};

template <class Key>
struct Entries : Arrays<Key, std::uint16_t> {
  std::vector<std::uint32_t> begins = {};  ///< of each partition, and the end; empty: not in partitions
  std::vector<std::uint32_t> groups = {};  ///< for each partition, the number of groups first seen in this batch
};

/// Groups in the order of their first rows.
template <class Key>
using KnownGroups = Arrays<Key, std::int64_t>;

/// Memory for entries of batches, mapped on demand.
template <class Key>
class Slabs {
 public:
  Slabs(std::int64_t rows, const EntryShape& shape) : entries_(std::min(rows, kEntries)), shape_(shape) {}

  /// Assigns arrays for `count` entries of one batch to `to`. May be called from any thread. Throws std::bad_alloc.
  void take(Entries<Key>& to, std::int64_t count) {
    const std::lock_guard lock(mutex_);
    if (slabs_.empty() || used_ + count > entries_) {
      slabs_.emplace_back(entries_, shape_);
      used_ = 0;
    }
    Slab& slab = slabs_.back();
    to.keys = slab.keys.data() + used_;
    to.rows = slab.rows.data() + used_;
    to.totals = slab.totals.data() + used_ * shape_.total_size;
    to.counts = shape_.counted ? slab.counts.data() + used_ : nullptr;
    to.count = count;
    used_ += count;
  }
  /// Unmaps all memory from take(). Zeroing brings new pages into the caches, while used pages would miss them first.
  void clear() { slabs_.clear(); }

 private:
  /// Far more entries than a batch has: arrays are on huge pages, and only pages that are written use memory. On two
  /// cores of a Xeon, entries were made 5 to 8 % slower if a slab had a fourth of these.
  static constexpr std::int64_t kEntries = std::int64_t{1} << 24;

  struct Slab {
    Slab(std::int64_t entries, const EntryShape& shape)
        : keys(entries), rows(entries), totals(entries * shape.total_size), counts(shape.counted ? entries : 0) {}

    cpu::Pages<Key> keys;
    cpu::Pages<std::uint16_t> rows;
    cpu::Pages<std::byte> totals;
    cpu::Pages<std::int64_t> counts;
  };

  std::int64_t entries_;  ///< per slab
  EntryShape shape_;
  std::mutex mutex_;
  std::vector<Slab> slabs_;
  std::int64_t used_ = 0;  ///< used entries of the last slab
};

}  // namespace upsweep::impl::group_by
