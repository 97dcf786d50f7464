// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_table.cuh: a hash table of keys in device memory that threads fill by atomics, large enough for the groups there are.
//
// A slot holds a key, the first row that has it, and what a rung adds. It fills half a sector of memory or one, so that a row
// costs one access where the table is larger than the cache.
#pragma once

#include <optional>

#include "problems/keys/group_by/device_groups.cuh"
#include "system/hash.hpp"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep::impl::group_by {

/// Both halves of a product, as one: see system/hash.hpp.
__device__ __forceinline__ std::uint64_t device_hash(const Secret& by, std::uint64_t key) {
  const std::uint64_t x = key ^ by.a;
  return x * by.b ^ __umul64hi(x, by.b);
}

/// An empty slot's key. Rows that have this key go to a slot of their own, past the others.
inline constexpr unsigned long long kNoKey = 0x9E37'79B9'7F4A'7C15;
/// What has no row yet.
inline constexpr unsigned long long kNoRow = ~0ULL;

struct alignas(16) KeySlot {
  unsigned long long key;
  unsigned long long first;

  __device__ void clear() { *this = {kNoKey, kNoRow}; }
};

/// Slots are a KeySlot and what follows it.
template <class Slot>
struct DeviceTable {
  Slot* slots;  ///< count, and that of kNoKey
  std::int64_t count;
  Secret by;
  std::uint32_t* is_full;  ///< set once a key finds no place

  static constexpr std::int64_t kNowhere = -1;

  /// The slot of a row's key, which takes an empty one if it has none, and keeps its first row; or kNowhere.
  // [guide: find]
  __device__ std::int64_t find(unsigned long long key, unsigned long long row) const {
    if (key == kNoKey) return keep_first(count, __ldcg(&slots[count].first), row);
    auto at = static_cast<std::int64_t>(__umul64hi(device_hash(by, key), static_cast<unsigned long long>(count)));
    for (int probe = 0; probe < kMostProbes; ++probe) {
      // Cached, though others write: a slot's key stays once it is there, and who sees an old one asks the compare-and-swap.
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
  /// `first`: the first row so far, or a later one that was it.
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

/// A table of a call's keys, with its memory.
template <class Slot>
class FilledTable {
 public:
  /// fill(table) puts kernels into the stream that find keys of about so many groups. It is called again, with a larger table
  /// that is empty, where there turn out to be more.
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
  /// Groups of which a table with three empty slots for each stays in the cache, so that a key is mostly where its hash says.
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
