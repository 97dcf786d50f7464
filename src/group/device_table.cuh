// SPDX-License-Identifier: Apache-2.0
// group/device_table.cuh: one hash table in device memory that threads fold rows into by atomics, and small ones in shared memory
// that are emptied into it: for cuda.hash, cuda.shared and cuda.partitioned.
//
// A slot holds the number of a row with its key, and 1; whoever puts it there first makes the group. Keys are read where they are,
// so that any key may occur and none stands for an empty slot.
#pragma once

#include "core/hash.hpp"
#include "group/device_groups.cuh"
#include "group/device_rung.hpp"

namespace upsweep::grouping {

/// Both halves of a product, as one: see core/hash.hpp.
__device__ __forceinline__ std::uint64_t device_hash(const Secret& by, std::uint64_t key) {
  const std::uint64_t x = key ^ by.a;
  return x * by.b ^ __umul64hi(x, by.b);
}

__device__ __forceinline__ void add_to(std::int32_t* to, std::int32_t value) { atomicAdd(to, value); }
__device__ __forceinline__ void add_to(std::int64_t* to, std::int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}
__device__ __forceinline__ void add_to(float* to, float value) { atomicAdd(to, value); }
__device__ __forceinline__ void add_to(double* to, double value) { atomicAdd(to, value); }

/// What has no row yet.
inline constexpr std::uint32_t kNoRow = 0xFFFF'FFFF;

/// What a sum begins with. Of floats -0.0, as of Add::identity(), which is the host's.
template <class T>
__device__ T no_sum() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(-0.0);
  return T{0};
}

template <class T>
struct Slots {
  std::uint32_t* rows;  ///< and 1; 0: empty
  std::uint32_t* firsts;
  T* sums;
  std::int64_t* counts;

  __device__ void add(std::int64_t slot, std::uint32_t first, T sum, std::int64_t count) const {
    // Read before, as most rows are not the first: who reads an old value does the atomic in vain.
    if (*const_cast<volatile std::uint32_t*>(&firsts[slot]) > first) atomicMin(&firsts[slot], first);
    add_to(&sums[slot], sum);
    add_to(&counts[slot], count);
  }
};

/// The table of all groups: at least half of its slots stay empty.
template <class Key, class T>
struct DeviceTable {
  const Key* keys;  ///< of the rows
  const T* values;
  std::int64_t n;
  Slots<T> slots;
  std::uint64_t mask;
  Secret by;

  __device__ void fold(Key key, std::uint32_t row, T sum, std::int64_t count) const {
    std::uint64_t at = device_hash(by, key) & mask;
    for (;; at = (at + 1) & mask) {
      std::uint32_t held = *const_cast<volatile std::uint32_t*>(&slots.rows[at]);
      if (held == 0) held = atomicCAS(&slots.rows[at], 0U, row + 1);
      if (held == 0 || keys[held - 1] == key) break;
    }
    slots.add(static_cast<std::int64_t>(at), row, sum, count);
  }
};

template <class T>
__global__ void clear_slots(Slots<T> slots, std::int64_t count) {
  const std::int64_t s = own_index();
  if (s >= count) return;
  slots.rows[s] = 0;
  slots.firsts[s] = kNoRow;
  slots.sums[s] = no_sum<T>();
  slots.counts[s] = 0;
}

/// Slots of a block's table in shared memory, and how far a key may be from where its hash says.
inline constexpr int kSharedSlots = 1024;
inline constexpr int kSharedProbes = 16;

/// A block's rows into a table of its own, and that into the one of all. Rows whose key finds no place go there at once.
template <class Key, class T>
class BlockTable {
 public:
  struct Room {
    std::uint32_t rows[kSharedSlots];
    std::uint32_t firsts[kSharedSlots];
    T sums[kSharedSlots];
    std::int64_t counts[kSharedSlots];
  };

  __device__ BlockTable(const DeviceTable<Key, T>& all, Room& room)
      : all_(all), slots_{room.rows, room.firsts, room.sums, room.counts} {
    for (int s = static_cast<int>(threadIdx.x); s < kSharedSlots; s += kThreads) {
      slots_.rows[s] = 0;
      slots_.firsts[s] = kNoRow;
      slots_.sums[s] = no_sum<T>();
      slots_.counts[s] = 0;
    }
    __syncthreads();  // all slots are empty before a row is folded
  }

  __device__ void fold(std::uint32_t row) const {
    const Key key = all_.keys[row];
    // Another part of the hash than the table of all begins with.
    std::uint32_t at = static_cast<std::uint32_t>(device_hash(all_.by, key) >> 40) % kSharedSlots;
    for (int probe = 0; probe < kSharedProbes; ++probe, at = (at + 1) % kSharedSlots) {
      std::uint32_t held = *const_cast<volatile std::uint32_t*>(&slots_.rows[at]);
      if (held == 0) held = atomicCAS(&slots_.rows[at], 0U, row + 1);
      if (held == 0 || all_.keys[held - 1] == key) return slots_.add(at, row, all_.values[row], 1);
    }
    all_.fold(key, row, all_.values[row], 1);
  }

  __device__ void empty() const {
    __syncthreads();  // all rows are folded before a slot is read
    for (int s = static_cast<int>(threadIdx.x); s < kSharedSlots; s += kThreads) {
      if (slots_.rows[s] == 0) continue;
      all_.fold(all_.keys[slots_.firsts[s]], slots_.firsts[s], slots_.sums[s], slots_.counts[s]);
    }
  }

 private:
  const DeviceTable<Key, T>& all_;
  Slots<T> slots_;
};

template <class T>
__global__ void note_slots(Slots<T> slots, std::int64_t count, RowBits bits) {
  const std::int64_t s = own_index();
  if (s < count && slots.rows[s] != 0) bits.set(slots.firsts[s]);
}

template <class Key, class T>
__global__ void place_slots(DeviceTable<Key, T> table, std::int64_t count, RowBits bits, Key* out_keys, T* out,
                            std::int64_t* out_counts) {
  const std::int64_t s = own_index();
  if (s >= count || table.slots.rows[s] == 0) return;
  const std::uint32_t first = table.slots.firsts[s];
  const std::int64_t at = bits.place_of(first);
  out_keys[at] = table.keys[first];
  out[at] = table.slots.sums[s];
  if (out_counts != nullptr) out_counts[at] = table.slots.counts[s];
}

/// fill(table, policy) puts kernels into the stream that fold all rows; then the groups are put in order and written.
template <class Key, class T, class Fill>
Status group_by_table(Call& call, Fill fill) {
  constexpr const char* kWhat = "grouping by a table";
  const gpu::Policy& policy = *call.device_policy;
  if (call.n == 0) return {};
  std::int64_t count = 1024;
  while (count < 2 * call.n) count *= 2;
  DeviceTable<Key, T> table{static_cast<const Key*>(call.keys),
                            static_cast<const T*>(call.in),
                            call.n,
                            {},
                            static_cast<std::uint64_t>(count - 1),
                            secret()};
  const DeviceParts memory(policy, [&](gpu::ScratchParts& parts) {
    table.slots = {parts.take<std::uint32_t>(count), parts.take<std::uint32_t>(count), parts.take<T>(count),
                   parts.take<std::int64_t>(count)};
  });
  const auto grid = grid_of(count, policy.stream);
  gpu::require(gpu::detail::launch(grid, clear_slots<T>, table.slots, count), kWhat);
  fill(table, policy);
  DeviceOrder order(policy, call.n);
  gpu::require(gpu::detail::launch(grid, note_slots<T>, table.slots, count, order.bits()), kWhat);
  call.groups = order.count();
  if (call.groups > room_of(call)) return {Code::unequal_lengths};
  gpu::require(gpu::detail::launch(grid, place_slots<Key, T>, table, count, order.bits(),
                                   static_cast<Key*>(call.out_keys), static_cast<T*>(call.out), call.out_counts),
               kWhat);
  gpu::require(cudaStreamSynchronize(policy.stream), kWhat);
  return {};
}

/// group_by_table() by the types of the call; `Fill` is a function object.
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

}  // namespace upsweep::grouping
