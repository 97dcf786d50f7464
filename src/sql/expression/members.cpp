// SPDX-License-Identifier: Apache-2.0
// sql/expression/members.cpp: hash table with open addressing, in which most lookups touch only one cache line.
#include "sql/expression/members.hpp"
#include "sql/tuning.hpp"

#include <algorithm>

namespace upsweep::expression {
namespace {

constexpr std::size_t kMostBits = query::tuning::kMembers.most_bits;

template <class T>
std::vector<T> ascending(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

bool is_narrow(Int128 value) { return value >= INT64_MIN && value <= INT64_MAX; }

}  // namespace

Members::Members(std::vector<Int128> exact) : exact_(ascending(std::move(exact))) {
  std::vector<std::uint64_t> keys;
  for (const Int128 value : exact_) {
    if (is_narrow(value)) keys.push_back(static_cast<std::uint64_t>(value));
  }
  if (!build_bits(keys)) build_table(keys);
}

Members::Members(std::vector<double> reals) : reals_(ascending(std::move(reals))) {
  std::vector<std::uint64_t> keys(reals_.size());
  std::transform(reals_.begin(), reals_.end(), keys.begin(), key_of);
  build_table(keys);
}

bool Members::has(Int128 value) const {
  return is_narrow(value) ? has(static_cast<std::int64_t>(value))
                          : std::binary_search(exact_.begin(), exact_.end(), value);
}

/// `keys` are in ascending order as signed numbers. Returns false if bits would need more memory than a table.
bool Members::build_bits(const std::vector<std::uint64_t>& keys) {
  if (keys.empty()) return false;
  const std::uint64_t words = (keys.back() - keys.front()) / 64 + 1;
  if (words > std::max(kMostBits / 64, 4 * keys.size())) return false;
  first_ = static_cast<std::int64_t>(keys.front());
  bits_.resize(static_cast<std::size_t>(words));
  for (const std::uint64_t key : keys)
    bits_[(key - keys.front()) / 64] |= std::uint64_t{1} << (key - keys.front()) % 64;
  return true;
}

void Members::build_table(const std::vector<std::uint64_t>& keys) {
  std::vector<std::uint64_t> in_order(keys);
  std::sort(in_order.begin(), in_order.end());
  for (const std::uint64_t key : in_order) free_ += key == free_ ? 1 : 0;
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(4 * keys.size(), 2));
  slots_.assign(slots, free_);
  for (const std::uint64_t key : keys) {
    std::size_t slot = slot_of(key);
    while (slots_[slot] != free_) slot = (slot + 1) & (slots - 1);
    slots_[slot] = key;
  }
}

}  // namespace upsweep::expression
