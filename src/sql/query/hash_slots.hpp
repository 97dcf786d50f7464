// SPDX-License-Identifier: Apache-2.0
// sql/query/hash_slots.hpp: a hash table of elements that are stored elsewhere: open addressing over tags of their
// hashes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "system/hash.hpp"
#include "upsweep/detail/unwritten_memory.hpp"

namespace upsweep::query {

/// Elements have the numbers 0, 1, … in the order in which they were added.
class HashSlots {
 public:
  /// Returns the element with this hash for which `is_same` returns true, otherwise the one that `add` adds. `count` is
  /// the number of elements. Elements that were added elsewhere are inserted first, with `hash_at`.
  template <class HashAt, class IsSame, class Add>
  std::int32_t find_or_add(std::uint64_t hash, std::int64_t count, const HashAt& hash_at, const IsSame& is_same,
                           const Add& add) {
    if (in_slots_ != count || is_full(count)) complete(count, hash_at);
    const std::size_t mask = slots_.size() - 1;
    const std::uint32_t tag = tag_of(hash);
    std::size_t place = slot_of(hash, slots_.size());
    for (; slots_[place].element >= 0; place = (place + 1) & mask) {
      if (slots_[place].tag == tag && is_same(slots_[place].element)) return slots_[place].element;
    }
    const std::int32_t element = add();
    slots_[place] = {tag, element};
    ++in_slots_;
    return element;
  }
  /// Allocates memory for that many elements.
  void reserve(std::int64_t count) {
    const std::size_t slots = 3 * static_cast<std::size_t>(count) / 2;  // a quarter of them is free
    if (slots > slots_.size()) widen(slots);
  }
  /// Removes all elements but keeps the allocated memory.
  void clear() {
    if (in_slots_ > 0) std::fill(slots_.begin(), slots_.end(), Slot{0, -1});
    in_slots_ = 0;
  }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(slots_.capacity() * sizeof(Slot)); }

  [[nodiscard]] bool empty() const { return slots_.empty(); }
  /// Prefetches the slot at which the search for this hash begins.
  void ask_for(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[slot_of(hash, slots_.size())]);
  }
  /// Returns the element in that slot, -1 for none. The table must have slots.
  [[nodiscard]] std::int32_t first(std::uint64_t hash) const { return slots_[slot_of(hash, slots_.size())].element; }

 private:
  struct Slot {
    std::uint32_t tag;     ///< the bits of the hash that slot_of() uses; a wider table needs only these bits
    std::int32_t element;  ///< -1: free
  };
  static constexpr std::size_t kFirst = 64;

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> kUnusedHashBits); }
  /// At most three quarters of the slots are used.
  [[nodiscard]] bool is_full(std::int64_t count) const {
    return 4 * static_cast<std::size_t>(count) >= 3 * slots_.size();
  }
  template <class HashAt>
  void complete(std::int64_t count, const HashAt& hash_at) {
    if (is_full(count)) widen(2 * static_cast<std::size_t>(count));
    for (; in_slots_ < count; ++in_slots_) take({tag_of(hash_at(in_slots_)), static_cast<std::int32_t>(in_slots_)});
  }
  void widen(std::size_t slots) {
    detail::Large<Slot> wider(std::bit_ceil(std::max(kFirst, slots)), {0, -1});
    std::swap(slots_, wider);
    for (const Slot& slot : wider) {
      if (slot.element >= 0) take(slot);
    }
  }
  void take(Slot slot) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = slot.tag & mask;
    while (slots_[place].element >= 0) place = (place + 1) & mask;
    slots_[place] = slot;
  }

  detail::Large<Slot> slots_;  ///< a power of two
  std::int64_t in_slots_ = 0;  ///< number of elements that are in slots
};

}  // namespace upsweep::query
