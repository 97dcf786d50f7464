// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_table.cuh: a hash table of keys in device memory that threads fill by atomics. It grows
// until all groups fit.
//
// A slot contains a key, the key's first row, and what a rung adds. It fills half a sector of memory or a whole one, so
// that a row costs one access if the table is larger than the cache.
#pragma once

#include <optional>

#include "problems/keys/group_by/device_groups.cuh"
#include "system/hash.hpp"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep::impl::group_by {

/// Combines both halves of a product; see system/hash.hpp.
__device__ __forceinline__ std::uint64_t device_hash(const Secret& by, std::uint64_t key) {
  const std::uint64_t x = key ^ by.a;
  return x * by.b ^ __umul64hi(x, by.b);
}

/// The key of an empty slot. Rows that have this key use a separate slot, after the others.
inline constexpr unsigned long long kNoKey = 0x9E37'79B9'7F4A'7C15;
/// The first row of a slot that has no row yet.
inline constexpr unsigned long long kNoRow = ~0ULL;

struct alignas(16) KeySlot {
  unsigned long long key;
  unsigned long long first;

  __device__ void clear() { *this = {kNoKey, kNoRow}; }
};

/// A slot is a KeySlot, possibly with more members after it.
template <class Slot>
struct DeviceTable {
  Slot* slots;  ///< `count` slots, and one for kNoKey
  std::int64_t count;
  Secret by;
  std::uint32_t* is_full;  ///< set once a key finds no place

  static constexpr std::int64_t kNowhere = -1;

  /// Returns the slot of a row's key, or kNowhere. A new key takes an empty slot. Records the key's first row.
  // [guide: find]
  __device__ std::int64_t find(unsigned long long key, unsigned long long row) const {
    if (key == kNoKey) return keep_first(count, __ldcg(&slots[count].first), row);
    auto at = static_cast<std::int64_t>(__umul64hi(device_hash(by, key), static_cast<unsigned long long>(count)));
    for (int probe = 0; probe < kMostProbes; ++probe) {
      // Cached, although others write. A slot's key never changes once it is set, and after an old value the
      // compare-and-swap decides.
      const ulonglong2 slot = __ldca(reinterpret_cast<const ulonglong2*>(&slots[at]));
      if (slot.x == key) return keep_first(at, slot.y, row);
      if (slot.x == kNoKey) {
        const unsigned long long held = atomicCAS(&slots[at].key, kNoKey, key);
        if (held == kNoKey || held == key) return keep_first(at, kNoRow, row);
      }
      at = at + 1 < count ? at + 1 : 0;
    }
    *is_full = 1;
    return kNowhere;
  }
  // [guide: end]

 private:
  /// `first` is the first row so far, or an earlier (larger) value of it.
  __device__ std::int64_t keep_first(std::int64_t at, unsigned long long first, unsigned long long row) const {
    if (row < first) atomicMin(&slots[at].first, row);
    return at;
  }

  static constexpr int kMostProbes = gpu::tuning::kGroups.most_probes;
};

template <class Slot>
__global__ void clear_slots(Slot* slots, std::int64_t count) {
  const std::int64_t s = own_index();
  if (s < count) slots[s].clear();
}

template <class Slot>
__global__ void note_firsts(const Slot* slots, std::int64_t count, RowBits bits) {
  const std::int64_t s = own_index();
  if (s < count && slots[s].first != kNoRow) bits.set(static_cast<std::int64_t>(slots[s].first));
}

/// A table of a call's keys, and its memory.
template <class Slot>
class FilledTable {
 public:
  /// fill(table) launches kernels that find keys of about `expected` groups. If there are more groups, it is called
  /// again with a larger, empty table.
  template <class Fill>
  FilledTable(const gpu::Policy& policy, std::int64_t expected, Fill fill) : policy_(policy) {
    std::int64_t count = 1024 + (expected <= kCached ? 4 * expected : expected * 8 / 5);
    for (;; count *= 4) {
      make(count);
      fill(table_);
      std::uint32_t is_full = 0;
      gpu::fetch(&is_full, table_.is_full, sizeof is_full, policy.stream);
      if (is_full == 0) return;
    }
  }

  [[nodiscard]] const DeviceTable<Slot>& table() const { return table_; }
  [[nodiscard]] std::int64_t slots() const { return table_.count + 1; }
  [[nodiscard]] gpu::detail::Grid grid() const { return grid_of(slots(), policy_.stream); }

  /// Sets the bit of each group's first row.
  void note_firsts(RowBits bits) const {
    gpu::require(gpu::detail::launch(grid(), impl::group_by::note_firsts<Slot>, table_.slots, slots(), bits), kWhat);
  }

 private:
  static constexpr const char* kWhat = "a table of keys";
  /// Up to this number of groups, a table with three empty slots for each stays in the cache, and most keys are in the
  /// slot that their hash gives.
  static constexpr std::int64_t kCached = gpu::tuning::kGroups.cached;

  void make(std::int64_t count) {
    table_ = {.slots = nullptr, .count = count, .by = secret(), .is_full = nullptr};
    memory_.reset();
    memory_.emplace(policy_, [&](gpu::ScratchParts& parts) {
      table_.slots = parts.take<Slot>(count + 1);
      table_.is_full = parts.take<std::uint32_t>(1);
    });
    gpu::require(cudaMemsetAsync(table_.is_full, 0, sizeof *table_.is_full, policy_.stream), kWhat);
    gpu::require(gpu::detail::launch(grid(), clear_slots<Slot>, table_.slots, slots()), kWhat);
  }

  gpu::Policy policy_;
  DeviceTable<Slot> table_ = {};
  std::optional<DeviceParts> memory_;
};

}  // namespace upsweep::impl::group_by
