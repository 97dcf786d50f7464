// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_numbers.cuh: numbers rows or partial sums by their groups, and sorts them by these
// numbers, which have far fewer bits than keys.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <optional>

#include "problems/keys/group_by/device_table.cuh"

namespace upsweep::impl::group_by {

/// Rows, or partial sums of several rows of one key.
template <class Key>
struct Items {
  const Key* keys;
  const unsigned long long* firsts;  ///< the first row of each item; null: item i is row i
  std::int64_t n;
};

template <class Key>
__global__ void __launch_bounds__(kThreads)
    find_slots(Items<Key> items, DeviceTable<KeySlot> table, std::uint32_t* slots) {
  const std::int64_t i = own_index();
  if (i >= items.n) return;
  const unsigned long long row = items.firsts == nullptr ? static_cast<unsigned long long>(i) : items.firsts[i];
  slots[i] = static_cast<std::uint32_t>(table.find(items.keys[i], row));
}

/// numbers[s] ← the number of slot s's group. Also writes the group's key and first row (unless `firsts` is null).
template <class Key>
__global__ void number_slots(DeviceTable<KeySlot> table, RowBits bits, std::uint32_t* numbers, Key* out_keys,
                             std::int64_t* firsts) {
  const std::int64_t s = own_index();
  if (s > table.count) return;
  const KeySlot slot = table.slots[s];
  if (slot.first == kNoRow) return;
  const auto first = static_cast<std::int64_t>(slot.first);
  const std::int64_t number = bits.place_of(first);
  numbers[s] = static_cast<std::uint32_t>(number);
  out_keys[number] = static_cast<Key>(slot.key);
  if (firsts != nullptr) firsts[number] = first;
}

/// Replaces numbers[i], a slot, by the number of its group.
inline __global__ void __launch_bounds__(kThreads)
    number_items(const std::uint32_t* of_slots, std::int64_t n, std::uint32_t* numbers) {
  const std::int64_t i = own_index();
  if (i < n) numbers[i] = of_slots[numbers[i]];
}

inline __global__ void __launch_bounds__(kThreads)
    find_offsets(const std::uint32_t* numbers, std::int64_t n, int from_bit, std::int64_t* offsets) {
  const std::int64_t i = own_index();
  if (i > n) return;
  const std::int64_t partition = i < n ? numbers[i] >> from_bit : 1 + (numbers[n - 1] >> from_bit);
  if (i == 0 || i == n || numbers[i - 1] >> from_bit != partition) offsets[partition] = i;
}

/// offsets[p] ← where the numbers of partition p begin, and the end of the last. p is a number without its last bits.
/// The partitions ascend by one.
inline void write_offsets(const gpu::Policy& policy, const std::uint32_t* numbers, std::int64_t n, int from_bit,
                          std::int64_t* offsets) {
  gpu::require(gpu::detail::launch(grid_of(n + 1, policy.stream), find_offsets, numbers, n, from_bit, offsets),
               "finding where groups begin");
}

/// Numbers all items by the order of their groups' first rows; there are `rows` rows.
template <class Key>
class NumberedItems {
 public:
  /// `expected` is an estimate of the number of groups.
  NumberedItems(const gpu::Policy& policy, const Items<Key>& items, std::int64_t expected, std::int64_t rows)
      : policy_(policy), n_(items.n), order_(policy, rows), memory_(policy, [&](gpu::ScratchParts& parts) {
          numbers_ = parts.take<std::uint32_t>(n_);
          sorted_ = parts.take<std::uint32_t>(n_);
        }) {
    filled_.emplace(policy, expected, [&](const DeviceTable<KeySlot>& table) {
      gpu::require(gpu::detail::launch(grid_of(n_, policy.stream), find_slots<Key>, items, table, numbers_), kWhat);
    });
    filled_->note_firsts(order_.bits());
    groups_ = order_.count();
  }

  [[nodiscard]] std::int64_t groups() const { return groups_; }

  /// Writes the key of each group g to out_keys[g] and its first row to firsts[g] (unless null), and numbers the items.
  /// Must be called once, before the functions below.
  void write(Key* out_keys, std::int64_t* firsts) {
    std::uint32_t* of_slots = nullptr;
    const DeviceParts memory(policy_,
                             [&](gpu::ScratchParts& parts) { of_slots = parts.take<std::uint32_t>(filled_->slots()); });
    gpu::require(gpu::detail::launch(filled_->grid(), number_slots<Key>, filled_->table(), order_.bits(), of_slots,
                                     out_keys, firsts),
                 kWhat);
    gpu::require(gpu::detail::launch(grid_of(n_, policy_.stream), number_items, of_slots, n_, numbers_), kWhat);
  }
  /// The number of each item: in the items' order, and in the order of the last sort().
  [[nodiscard]] const std::uint32_t* numbers() const { return numbers_; }
  [[nodiscard]] const std::uint32_t* sorted() const { return sorted_; }
  /// Returns how many bits the maximum number has.
  [[nodiscard]] int bits() const {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(groups_ - 1))));
  }

  /// Sorts one word of `size` bytes per item into `out`, by the numbers without their last `from_bit` bits. Stable.
  void sort(const void* words, int size, void* out, int from_bit = 0) const {
    if (size == 1) sort_as<std::uint8_t>(words, out, from_bit);
    if (size == 2) sort_as<std::uint16_t>(words, out, from_bit);
    if (size == 4) sort_as<std::uint32_t>(words, out, from_bit);
    if (size == 8) sort_as<std::uint64_t>(words, out, from_bit);
  }

 private:
  static constexpr const char* kWhat = "numbering rows by their groups";

  template <class Word>
  void sort_as(const void* words, void* out, int from_bit) const {
    run_cub(
        policy_,
        [&](void* scratch, std::size_t& bytes) {
          return cub::DeviceRadixSort::SortPairs(scratch, bytes, numbers_, sorted_, static_cast<const Word*>(words),
                                                 static_cast<Word*>(out), n_, from_bit, bits(), policy_.stream);
        },
        kWhat);
  }

  gpu::Policy policy_;
  std::int64_t n_;
  std::int64_t groups_ = 0;
  DeviceOrder order_;
  std::uint32_t* numbers_ = nullptr;  // before memory_, whose initializer fills them
  std::uint32_t* sorted_ = nullptr;
  DeviceParts memory_;
  std::optional<FilledTable<KeySlot>> filled_;
};

}  // namespace upsweep::impl::group_by
