// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/answer.hpp: writes the groups to a call's outputs, and reports sums that do not fit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "problems/keys/group_by/folds.hpp"
#include "problems/keys/group_by/table.hpp"

namespace upsweep::impl::group_by {

/// Groups in an array, and their places in the outputs.
template <class Key>
struct Written {
  const Key* keys;
  const std::byte* totals;
  const std::int64_t* places;
};

/// Writes n groups except their counts. Returns the group whose total does not fit and whose place is lowest, or
/// kNoIndex.
template <class Key>
std::int64_t write_groups(const Call& call, const Folds& folds, const Written<Key>& groups, std::int64_t n) {
  auto* const out_keys = static_cast<Key*>(call.out_keys);
  for (std::int64_t i = 0; i < n; ++i) out_keys[groups.places[i]] = groups.keys[i];
  return folds.write(groups.totals, groups.places, n, call.out);
}

/// The first group whose sum does not fit. Groups are added in any order.
struct Bad {
  std::int64_t place = kNoIndex;
  std::int64_t row = kNoIndex;  ///< the group's first row

  void add(std::int64_t at, std::int64_t first) {
    if (place == kNoIndex || at < place) *this = {at, first};
  }
};

/// Sets the outcome of a call whose groups are written: the first of these errors, if any.
inline Status outcome(Call& call, const Bad* bad, std::int64_t n) {
  Bad first;
  for (std::int64_t i = 0; i < n; ++i) {
    if (bad[i].place != kNoIndex) first.add(bad[i].place, bad[i].row);
  }
  call.bad_row = first.row;
  return first.place == kNoIndex ? Status{} : Status{Code::overflow, first.place};
}

/// Writes groups that are in the order of their first rows, and sets the call's outcome.
template <class Key>
Status write_in_order(Call& call, const Folds& folds, const GroupTotals<Key>& groups) {
  const std::int64_t n = groups.size();
  call.groups = n;
  if (n > capacity_of(call)) return {Code::unequal_lengths};
  std::int64_t places[kBlock];
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t count = std::min(kBlock, n - at);
    for (std::int64_t i = 0; i < count; ++i) places[i] = at + i;
    const Written<Key> block{groups.table.keys() + at, groups.totals() + at * folds.size, places};
    const std::int64_t bad = write_groups(call, folds, block, count);
    if (call.out_counts != nullptr) std::copy_n(groups.counts() + at, count, call.out_counts + at);
    if (bad == kNoIndex) continue;
    call.bad_row = groups.table.firsts()[at + bad];
    return {Code::overflow, at + bad};
  }
  return {};
}

}  // namespace upsweep::impl::group_by
