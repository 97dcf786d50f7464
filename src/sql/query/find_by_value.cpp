// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_value.cpp: the difference between a key and the table's first value is the index of its group's
// entry.
#include "sql/query/find_by_value.hpp"
#include "sql/tuning.hpp"

#include <algorithm>
#include <limits>

namespace upsweep::query {
namespace {

constexpr std::int64_t kMostByValue = tuning::kFinders.most_values;
constexpr std::int64_t kMinByValue = tuning::kFinders.least_values;

}  // namespace

bool FindByValue::find(Groups& groups, const BlockKeys& block, std::int32_t* group) {
  const Vector& key = *block.keys[0];
  const int n = block.rows;
  if (!is_plain(key)) return false;
  const auto* const values = key.as<std::int64_t>();
  if (!reserve_for({kernels_.integers.minimum(values, n), kernels_.integers.maximum(values, n)}, groups)) return false;
  number_.resize(kBlock);
  kernels_.distances(values, first_, n, number_.data());
  look_up(kernels_, by_value_, number_.data(), block, group, [&](int i) {
    const std::int32_t found = group_of(groups, values[i]);
    ++in_table_;
    return found;
  });
  return true;
}

/// Returns whether the table has an entry for all these values, and for the earlier values.
bool FindByValue::reserve_for(Values values, const Groups& groups) {
  const Int128 size = std::ssize(by_value_);
  if (groups.count() > 0 && size > 0) {
    values = {std::min(values.minimum, seen_.minimum), std::max(values.maximum, seen_.maximum)};
  }
  const Int128 spread = Int128{values.maximum} - values.minimum;
  if (spread >= kMostByValue) return false;
  seen_ = values;
  if (values.minimum >= first_ && Int128{values.maximum} - first_ < size) return true;
  // The table extends equally on both sides, so that it seldom has to be rebuilt.
  const Int128 capacity = std::max(size, std::clamp<Int128>(4 * spread, kMinByValue, kMostByValue));
  const Int128 first = values.minimum - (capacity - spread) / 2;
  first_ = static_cast<std::int64_t>(std::max<Int128>(first, std::numeric_limits<std::int64_t>::min()));
  if (groups.count() > 0 || capacity > size) by_value_.assign(static_cast<std::size_t>(capacity), kUnseen);
  in_table_ = 0;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    std::int32_t* const known = place_of(groups, g);
    if (known == nullptr) continue;
    *known = static_cast<std::int32_t>(g);
    ++in_table_;
  }
  return true;
}

/// Returns the entry of a group, or null if the table has none for its key.
std::int32_t* FindByValue::place_of(const Groups& groups, std::int64_t group) {
  const Int128 place = groups.key(group, 0) - first_;
  const bool has_place = !groups.key_is_null(group, 0) && place >= 0 && place < std::ssize(by_value_);
  return has_place ? &by_value_[static_cast<std::size_t>(place)] : nullptr;
}

/// Returns the group of a value that is not in the table.
std::int32_t FindByValue::group_of(Groups& groups, std::int64_t value) const {
  const Int128 key = value;
  const std::uint8_t not_null = 0;
  const std::uint64_t hash = groups.hash_of_key(&key, &not_null);
  return in_table_ == groups.count() ? groups.add(hash, &key, &not_null) : groups.find(hash, &key, &not_null);
}

/// The table keeps its size, because the next groups' keys are mostly as close to each other.
void FindByValue::forget(const Groups& groups) {
  in_table_ = 0;
  if (groups.count() > std::ssize(by_value_) / 8) return by_value_.assign(by_value_.size(), kUnseen);
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    if (std::int32_t* const known = place_of(groups, g)) *known = kUnseen;
  }
}

}  // namespace upsweep::query
