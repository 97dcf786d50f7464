// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/folds.hpp: the loops that fold values into totals by the numbers of their groups, by type and
// operator. They do not find the group of a row, so they are compiled once for all types of keys.
#pragma once

#include <cstdint>

#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

/// A total is an element of the output type; for a checked sum it is 128 bits. Arrays of totals are aligned to 128
/// bits.
struct Folds {
  int size;  ///< size of a total in bytes
  /// totals[g] ← the operator's identity.
  void (*clear)(void* totals, std::int64_t count);
  /// totals[numbers[i]] ← totals[numbers[i]] ⊕ values[i], one i after the other.
  void (*fold)(const void* values, const std::uint32_t* numbers, std::int64_t n, void* totals);
  /// totals[numbers[i]] ← totals[numbers[i]] ⊕ values[at[i]], one i after the other.
  void (*fold_at)(const void* values, const std::int64_t* at, const std::uint32_t* numbers, std::int64_t n,
                  void* totals);
  /// totals[to[i]] ← the total of only values[at[i]].
  void (*lift)(const void* values, const std::int64_t* at, const std::uint32_t* to, std::int64_t n, void* totals);
  /// totals[numbers[i]] ← totals[numbers[i]] ⊕ others[i], one i after the other.
  void (*merge)(const void* others, const std::uint32_t* numbers, std::int64_t n, void* totals);
  /// to[places[i]] ← totals[i].
  void (*move)(const void* totals, const std::uint32_t* places, std::int64_t n, void* to);
  /// out[places[i]] ← totals[i]. Returns the i whose total does not fit and whose place is lowest, or kNoIndex.
  std::int64_t (*write)(const void* totals, const std::int64_t* places, std::int64_t n, void* out);
};

Folds folds_of(const Call& call);

}  // namespace upsweep::impl::group_by
