// SPDX-License-Identifier: Apache-2.0
// system/recent_values.hpp: a cache that keeps the most recently used values, for several threads.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace upsweep {

/// Keeps the `most` values that were used last. A dropped value exists as long as a caller holds it.
template <class Key, class Value>
class RecentValues {
 public:
  explicit RecentValues(std::size_t most) : most_(most) {}

  /// Returns the value of `key`. If it is not kept, make() returns it as a std::shared_ptr<const Value>. Only calls for
  /// the same key wait for make(), so that a value that takes seconds to make delays no other. Throws what make()
  /// throws; then the next call tries again.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make make) {
    const std::shared_ptr<Slot> slot = slot_of(key);
    const std::lock_guard lock(slot->making);
    if (slot->value == nullptr) slot->value = make();
    return slot->value;
  }

 private:
  struct Slot {
    std::mutex making;
    std::shared_ptr<const Value> value;
  };
  using Slots = std::list<std::pair<const Key, std::shared_ptr<Slot>>>;  // the most recently used slot first

  std::shared_ptr<Slot> slot_of(const Key& key) {
    std::shared_ptr<Slot> dropped;  // destroyed after the lock, because the destruction may also take long
    const std::lock_guard lock(changing_);
    if (const auto known = places_.find(key); known != places_.end()) {
      slots_.splice(slots_.begin(), slots_, known->second);
      return slots_.front().second;
    }
    slots_.emplace_front(key, std::make_shared<Slot>());
    places_.emplace(key, slots_.begin());
    const std::shared_ptr<Slot> slot = slots_.front().second;
    if (slots_.size() > most_) {
      places_.erase(slots_.back().first);
      dropped = std::move(slots_.back().second);
      slots_.pop_back();
    }
    return slot;
  }

  const std::size_t most_;
  std::mutex changing_;
  Slots slots_;
  std::map<Key, typename Slots::iterator> places_;
};

}  // namespace upsweep
