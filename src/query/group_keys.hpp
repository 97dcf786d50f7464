// SPDX-License-Identifier: Apache-2.0
// query/group_keys.hpp: keys of groups, one after the other, in 64 bits each while they fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::query {

/// Keys of groups, one after the other: of 64 bits each until one comes that does not fit.
class Keys {
 public:
  [[nodiscard]] Int128 operator[](std::size_t i) const { return is_wide_ ? wide_[i] : Int128{narrow_[i]}; }
  /// All of them, where they fit.
  [[nodiscard]] const std::int64_t* narrow() const { return narrow_.data(); }
  /// All of them, where some do not.
  [[nodiscard]] const Int128* wide() const { return wide_.data(); }
  void ask_for(std::size_t i) const {
    if (is_wide_) {
      __builtin_prefetch(wide_.data() + i);
    } else {
      __builtin_prefetch(narrow_.data() + i);
    }
  }
  [[nodiscard]] bool is_wide() const { return is_wide_; }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(narrow_.capacity() * sizeof(std::int64_t) + wide_.capacity() * sizeof(Int128));
  }

  void clear() {
    narrow_.clear();
    wide_.clear();
    is_wide_ = false;
  }
  void push_back(Int128 key) {
    if (!is_wide_ && !fits(key)) widen();
    if (is_wide_) {
      wide_.push_back(key);
    } else {
      narrow_.push_back(static_cast<std::int64_t>(key));
    }
  }
  void pop_back() { resize((is_wide_ ? wide_.size() : narrow_.size()) - 1); }
  void resize(std::size_t size) {
    if (is_wide_) {
      wide_.resize(size);
    } else {
      narrow_.resize(size);
    }
  }
  /// By several threads at a time where these are wide or it fits.
  void set(std::size_t i, Int128 key) {
    if (!is_wide_ && !fits(key)) widen();
    if (is_wide_) {
      wide_[i] = key;
    } else {
      narrow_[i] = static_cast<std::int64_t>(key);
    }
  }
  void widen() {
    wide_.assign(narrow_.begin(), narrow_.end());
    narrow_ = {};
    is_wide_ = true;
  }

 private:
  static bool fits(Int128 key) { return key == static_cast<std::int64_t>(key); }

  std::vector<std::int64_t> narrow_;
  std::vector<Int128> wide_;
  bool is_wide_ = false;
};

}  // namespace upsweep::query
