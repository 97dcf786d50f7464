// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_sums.cuh: sums by atomics, in one global table in device memory and in small tables in
// shared memory that are added to it: for cuda.hash, cuda.shared and cuda.partitioned.
#pragma once

#include "problems/keys/group_by/device_rung.hpp"
#include "problems/keys/group_by/device_sketch.cuh"
#include "problems/keys/group_by/device_table.cuh"
#include "problems/keys/group_by/device_warp_sums.cuh"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep::impl::group_by {

__device__ __forceinline__ void add_to(std::int32_t* to, std::int32_t value) { atomicAdd(to, value); }
__device__ __forceinline__ void add_to(std::int64_t* to, std::int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}
__device__ __forceinline__ void add_to(float* to, float value) { atomicAdd(to, value); }
__device__ __forceinline__ void add_to(double* to, double value) { atomicAdd(to, value); }

/// A slot, as large as a sector of memory.
template <class T>
struct alignas(32) SumSlot {
  unsigned long long key;
  unsigned long long first;
  T sum;
  unsigned long long rows;

  __device__ void clear() { *this = {kNoKey, kNoRow, no_sum<T>(), 0}; }
};

template <class Key, class T>
struct SumTable {
  DeviceTable<SumSlot<T>> table;
  const Key* keys;  ///< of the rows
  const T* values;
  std::int64_t n;
  bool counts;  ///< rows are counted

  __device__ void fold(unsigned long long key, unsigned long long row, T sum, unsigned long long rows) const {
    const std::int64_t at = table.find(key, row);
    if (at < 0) return;  // the table is full and will be built again
    add_to(&table.slots[at].sum, sum);
    if (counts) atomicAdd(&table.slots[at].rows, rows);
  }
  __device__ void fold(std::int64_t row) const {
    fold(keys[row], static_cast<unsigned long long>(row), values[row], 1);
  }
};

/// Slots of a block's table in shared memory, and the maximum distance of a key from the slot that its hash gives.
inline constexpr int kSharedSlots = gpu::tuning::kGroups.shared_slots;
inline constexpr int kSharedProbes = gpu::tuning::kGroups.shared_probes;

/// Folds a block's rows into a separate table, and this into the global table. Rows whose key finds no place there go
/// into the global table at once.
template <class Key, class T>
class BlockTable {
 public:
  struct Table {
    unsigned long long keys[kSharedSlots];
    unsigned long long firsts[kSharedSlots];
    T sums[kSharedSlots];
    std::uint32_t rows[kSharedSlots];
  };

  __device__ BlockTable(const SumTable<Key, T>& all, Table& table) : all_(all), table_(table) {
    for (int s = static_cast<int>(threadIdx.x); s < kSharedSlots; s += kThreads) {
      table.keys[s] = kNoKey;
      table.firsts[s] = kNoRow;
      table.sums[s] = no_sum<T>();
      table.rows[s] = 0;
    }
    __syncthreads();  // all slots are empty before a row is folded
  }

  __device__ void fold(std::int64_t row) const {
    const unsigned long long key = all_.keys[row];
    const int at = find(key);
    if (at < 0) return all_.fold(row);
    const auto first = static_cast<unsigned long long>(row);
    // Read first, because most rows are not the first of their key. After reading an old value the atomic has no
    // effect.
    if (first < *const_cast<volatile unsigned long long*>(&table_.firsts[at])) atomicMin(&table_.firsts[at], first);
    add_to(&table_.sums[at], all_.values[row]);
    if (all_.counts) atomicAdd(&table_.rows[at], 1U);
  }

  __device__ void empty() const {
    __syncthreads();  // all rows are folded before a slot is read
    for (int s = static_cast<int>(threadIdx.x); s < kSharedSlots; s += kThreads) {
      if (table_.keys[s] != kNoKey) all_.fold(table_.keys[s], table_.firsts[s], table_.sums[s], table_.rows[s]);
    }
  }

 private:
  /// Returns the slot of a key; a new key takes an empty slot. Returns -1 if there is no place for it.
  __device__ int find(unsigned long long key) const {
    if (key == kNoKey) return -1;
    // These are other bits of the hash than those with which the search in the global table begins.
    int at = static_cast<int>(device_hash(all_.table.by, key) % kSharedSlots);
    for (int probe = 0; probe < kSharedProbes; ++probe, at = (at + 1) % kSharedSlots) {
      unsigned long long held = *const_cast<volatile unsigned long long*>(&table_.keys[at]);
      if (held == kNoKey) held = atomicCAS(&table_.keys[at], kNoKey, key);
      if (held == kNoKey || held == key) return at;
    }
    return -1;
  }

  const SumTable<Key, T>& all_;
  Table& table_;
};

template <class Key, class T>
__global__ void place_slots(DeviceTable<SumSlot<T>> table, RowBits bits, Key* out_keys, T* out,
                            std::int64_t* out_counts) {
  const std::int64_t s = own_index();
  if (s > table.count) return;
  const SumSlot<T> slot = table.slots[s];
  if (slot.first == kNoRow) return;
  const std::int64_t at = bits.place_of(static_cast<std::int64_t>(slot.first));
  out_keys[at] = static_cast<Key>(slot.key);
  out[at] = slot.sum;
  if (out_counts != nullptr) out_counts[at] = static_cast<std::int64_t>(slot.rows);
}

/// fill(sums, policy) launches kernels that fold all rows; then the groups are put in order and written.
template <class Key, class T, class Fill>
Status group_by_table(Call& call, Fill fill) {
  constexpr const char* kWhat = "grouping by a table";
  const gpu::Policy& policy = *call.device_policy;
  if (call.n == 0) return {};
  const auto* const keys = static_cast<const Key*>(call.keys);
  const FilledTable<SumSlot<T>> filled(
      policy, expected_groups(policy, keys, call.n), [&](const DeviceTable<SumSlot<T>>& table) {
        fill(SumTable<Key, T>{table, keys, static_cast<const T*>(call.in), call.n, call.out_counts != nullptr}, policy);
      });
  DeviceOrder order(policy, call.n);
  filled.note_firsts(order.bits());
  call.groups = order.count();
  if (call.groups > capacity_of(call)) return {Code::unequal_lengths};
  gpu::require(gpu::detail::launch(filled.grid(), place_slots<Key, T>, filled.table(), order.bits(),
                                   static_cast<Key*>(call.out_keys), static_cast<T*>(call.out), call.out_counts),
               kWhat);
  gpu::require(cudaStreamSynchronize(policy.stream), kWhat);
  return {};
}

/// Calls group_by_table() with the types of the call; `Fill` is a function object.
template <class Fill>
Status launch_table(Call& call, Fill fill) noexcept {
  return guarded(call, [&] {
    return visit_device_key(call.key_type, [&]<class Key>(std::type_identity<Key>) {
      return with_few_types(call.out_type, [&]<class T, class Any>(std::type_identity<T>, Any) -> Status {
        if constexpr (std::is_arithmetic_v<T>) {
          return group_by_table<Key, T>(call, fill);
        } else {
          return {Code::unsupported};
        }
      });
    });
  });
}

}  // namespace upsweep::impl::group_by
