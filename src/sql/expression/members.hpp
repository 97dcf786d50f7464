// SPDX-License-Identifier: Apache-2.0
// sql/expression/members.hpp: the constants of a long IN list: a hash table of numbers or of strings.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "system/hash.hpp"
#include "upsweep/table.hpp"

namespace upsweep::expression {

class Members {
 public:
  explicit Members(std::vector<Int128> exact);
  explicit Members(std::vector<double> reals);
  explicit Members(const std::vector<std::string>& strings) : strings_(strings.begin(), strings.end()) {}

  [[nodiscard]] bool has(std::int64_t value) const {
    if (bits_.empty()) return has_key(static_cast<std::uint64_t>(value));
    const std::uint64_t bit = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(first_);
    return bit / 64 < bits_.size() && (bits_[bit / 64] >> bit % 64 & 1) != 0;
  }
  [[nodiscard]] bool has(Int128 value) const;
  /// 0.0 and -0.0 are equal. NaN is never a member, because no literal is NaN.
  [[nodiscard]] bool has(double value) const { return has_key(key_of(value)); }
  [[nodiscard]] bool has(std::string_view string) const { return strings_.find(string) != strings_.end(); }

  // Unique values in ascending order.
  [[nodiscard]] const std::vector<Int128>& exact() const { return exact_; }
  [[nodiscard]] const std::vector<double>& reals() const { return reals_; }

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's name
    std::size_t operator()(std::string_view string) const {
      return static_cast<std::size_t>(hash_of(secret(), string));
    }
  };

  static std::uint64_t key_of(double value) { return std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value); }
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    return upsweep::slot_of(folded_product(key ^ by_.a, by_.b), slots_.size());
  }
  [[nodiscard]] bool has_key(std::uint64_t key) const {
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot] == free_) return false;
      if (slots_[slot] == key) return true;
    }
  }
  void build_table(const std::vector<std::uint64_t>& keys);
  bool build_bits(const std::vector<std::uint64_t>& keys);

  std::vector<Int128> exact_;
  std::vector<double> reals_;
  std::unordered_set<std::string, Hash, std::equal_to<>> strings_;
  // The values of `exact_` that fit 64 bits. They are stored as bits, starting at the minimum, if they are close
  // together, otherwise in a table.
  std::vector<std::uint64_t> bits_;
  std::int64_t first_ = 0;
  std::vector<std::uint64_t> slots_;  // a power of two; at most a quarter is used: most lookups end at the first slot
  std::uint64_t free_ = 0;            // the content of a free slot: no member's key
  Secret by_ = secret();
};

}  // namespace upsweep::expression
