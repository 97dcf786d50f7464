// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/table.hpp: a table that numbers keys in the order of first rows, and totals of groups.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "problems/keys/group_by/folds.hpp"
#include "system/hash.hpp"

namespace upsweep::impl::group_by {

/// Rows that are numbered and folded at a time, so that their numbers stay in L1.
inline constexpr std::int64_t kBlock = 1024;
/// The number of a key that is not in the table.
inline constexpr std::uint32_t kNone = 0xFFFF'FFFF;

/// Returns a hash in which each bit depends on all bits of the key and of the secret.
inline std::uint64_t hash_of_key(const Secret& by, std::uint64_t key) { return folded_product(key ^ by.a, by.b); }

/// An array that grows and whose elements are not initialized.
template <class T>
class GrowingBuffer {
 public:
  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  T& operator[](std::int64_t i) { return data_[static_cast<std::size_t>(i)]; }
  const T& operator[](std::int64_t i) const { return data_[static_cast<std::size_t>(i)]; }
  /// Reserves capacity and keeps the first `used` elements. Throws std::bad_alloc.
  void reserve(std::int64_t capacity, std::int64_t used) {
    if (capacity <= capacity_) return;
    capacity = std::max(capacity, 2 * capacity_);
    auto more = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(capacity));
    if (used > 0) std::memcpy(more.get(), data_.get(), static_cast<std::size_t>(used) * sizeof(T));
    data_ = std::move(more);
    capacity_ = capacity;
  }

 private:
  std::unique_ptr<T[]> data_;
  std::int64_t capacity_ = 0;
};

/// Distinct keys, each with its first row. `Key` is unsigned: keys are equal if their bits are.
template <class Key>
class Table {
 public:
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const Key* keys() const { return keys_.data(); }
  [[nodiscard]] const std::int64_t* firsts() const { return firsts_.data(); }

  void clear() {
    if (slots_count_ > 0) std::fill_n(slots_.get(), slots_count_, 0);
    size_ = 0;
  }
  /// Reserves memory for `more` keys, the maximum that number() and add() may then add. Throws std::bad_alloc.
  void reserve(std::int64_t more) {
    reserve_keys(more);
    if (2 * (size_ + more) > slots_count_) make_slots(std::max(2 * (size_ + more), 2 * slots_count_));
  }
  /// numbers[i] ← the number of keys[i]. A new key is added, with row(i) as its first row.
  /// Not inlined, because a surrounding loop would leave too few registers.
  template <class Row>
  [[gnu::noinline]] void number(const Key* keys, std::int64_t n, std::uint32_t* numbers, Row row) {
    const Secret by = by_;  // these copies stay in registers, whatever the loop writes
    const std::uint64_t mask = mask_;
    std::uint32_t* const slots = slots_.get();
    const Key* const known = keys_.data();
    // [guide: number]
    for (std::int64_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      std::uint64_t at = hash_of_key(by, key) & mask;
      while (slots[at] != 0 && known[slots[at] - 1] != key) at = (at + 1) & mask;
      if (slots[at] == 0) slots[at] = add(key, row(i)) + 1;
      numbers[i] = slots[at] - 1;
    }
    // [guide: end]
  }
  /// numbers[i] ← the number of keys[i], or kNone.
  void find(const Key* keys, std::int64_t n, std::uint32_t* numbers) const {
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint64_t at = hash_of_key(by_, keys[i]) & mask_;
      while (slots_[at] != 0 && keys_[slots_[at] - 1] != keys[i]) at = (at + 1) & mask_;
      numbers[i] = slots_[at] - 1;  // kNone for an empty slot
    }
  }
  /// Reserves memory for `more` keys if only add() is used.
  void reserve_keys(std::int64_t more) {
    keys_.reserve(size_ + more, size_);
    firsts_.reserve(size_ + more, size_);
  }
  /// Adds a new key that the caller finds by other means; see find_added().
  std::uint32_t add(Key key, std::int64_t row) {
    keys_[size_] = key;
    firsts_[size_] = row;
    return static_cast<std::uint32_t>(size_++);
  }
  /// Makes number() and find() work after keys were added to an empty table only by add(). Reserves memory for `more`
  /// keys.
  void find_added(std::int64_t more) {
    const std::int64_t before = slots_count_;
    reserve(more);
    if (slots_count_ == before) put_all();
  }

 private:
  void make_slots(std::int64_t least) {
    slots_count_ = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
    slots_ = std::make_unique<std::uint32_t[]>(static_cast<std::size_t>(slots_count_));
    mask_ = static_cast<std::uint64_t>(slots_count_) - 1;
    put_all();
  }
  void put_all() {
    for (std::int64_t g = 0; g < size_; ++g) {
      std::uint64_t at = hash_of_key(by_, keys_[g]) & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = static_cast<std::uint32_t>(g + 1);
    }
  }

  Secret by_ = secret();
  std::unique_ptr<std::uint32_t[]> slots_;  ///< 1 + the number; 0: empty. At least half of them are empty.
  std::int64_t slots_count_ = 0;
  std::uint64_t mask_ = 0;
  GrowingBuffer<Key> keys_;
  GrowingBuffer<std::int64_t> firsts_;
  std::int64_t size_ = 0;
};

/// A table's groups: totals, and counts if requested.
template <class Key>
class GroupTotals {
 public:
  GroupTotals(const Folds& folds, bool counted) : folds_(folds), counted_(counted) {}

  Table<Key> table;

  void clear() {
    table.clear();
    cleared_ = 0;
  }
  [[nodiscard]] std::int64_t size() const { return table.size(); }
  [[nodiscard]] const std::byte* totals() const { return reinterpret_cast<const std::byte*>(totals_.data()); }
  [[nodiscard]] const std::int64_t* counts() const { return counts_.data(); }

  /// Folds n rows; the number of the first is `first`.
  void add(const Key* keys, const void* values, int value_size, std::int64_t first, std::int64_t n) {
    for (std::int64_t at = 0; at < n; at += kBlock) {
      const std::int64_t count = std::min(kBlock, n - at);
      table.reserve(count);
      table.number(keys + at, count, numbers_, [&](std::int64_t i) { return first + at + i; });
      fold(static_cast<const std::byte*>(values) + at * value_size, numbers_, count);
    }
  }
  /// Folds the values of one block, whose group numbers are known.
  void fold(const void* values, const std::uint32_t* numbers, std::int64_t n) {
    clear_new();
    folds_.fold(values, numbers, n, totals_.data());
    if (counted_) count_rows(numbers, n);
  }
  /// Folds values[at[i]] instead of values[i].
  void fold_at(const void* values, const std::int64_t* at, const std::uint32_t* numbers, std::int64_t n) {
    clear_new();
    folds_.fold_at(values, at, numbers, n, totals_.data());
    if (counted_) count_rows(numbers, n);
  }
  /// Merges totals of other groups, first seen in row(i). `counts` may be null if not requested.
  template <class Count, class Row>
  void merge(const Key* keys, const std::byte* totals, const Count* counts, std::int64_t n, Row row) {
    for (std::int64_t at = 0; at < n; at += kBlock) {
      const std::int64_t count = std::min(kBlock, n - at);
      table.reserve(count);
      table.number(keys + at, count, numbers_, [&](std::int64_t i) { return row(at + i); });
      clear_new();
      folds_.merge(totals + at * folds_.size, numbers_, count, totals_.data());
      if (!counted_) continue;
      for (std::int64_t i = 0; i < count; ++i) counts_[numbers_[i]] += static_cast<std::int64_t>(counts[at + i]);
    }
  }

 private:
  /// Sets the totals of new groups to the identity.
  void clear_new() {
    const std::int64_t size = table.size();
    if (cleared_ == size) return;
    const std::int64_t per = std::max(folds_.size, 1);
    totals_.reserve(divided_up(size * per), divided_up(cleared_ * per));
    folds_.clear(reinterpret_cast<std::byte*>(totals_.data()) + cleared_ * per, size - cleared_);
    if (counted_) {
      counts_.reserve(size, cleared_);
      std::fill_n(counts_.data() + cleared_, size - cleared_, 0);
    }
    cleared_ = size;
  }
  void count_rows(const std::uint32_t* numbers, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) ++counts_[numbers[i]];
  }
  /// The alignment of the widest total.
  struct alignas(16) Aligned {
    std::byte bytes[16];
  };
  static std::int64_t divided_up(std::int64_t bytes) { return (bytes + 15) / 16; }

  Folds folds_;
  bool counted_;
  GrowingBuffer<Aligned> totals_;
  GrowingBuffer<std::int64_t> counts_;
  std::int64_t cleared_ = 0;
  std::uint32_t numbers_[kBlock];
};

/// Calls f(std::type_identity<Key>{}) with the unsigned type of the size of a call's keys.
template <class F>
auto visit_key(Type type, F f) {
  switch (size_of(type)) {
    case 1:
      return f(std::type_identity<std::uint8_t>{});
    case 2:
      return f(std::type_identity<std::uint16_t>{});
    case 4:
      return f(std::type_identity<std::uint32_t>{});
    default:
      return f(std::type_identity<std::uint64_t>{});
  }
}

}  // namespace upsweep::impl::group_by
