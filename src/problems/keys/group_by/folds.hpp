// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/folds.hpp: what a group comes to: the loops that fold values into totals by the numbers of their groups, by type and
// operator. Which group a row belongs to is found without them, so that these are compiled once for all types of keys.
#pragma once

#include <cstdint>

#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

/// A total is an element of the output type; of a checked sum it has 128 bits. Arrays of totals are aligned to these.
struct Folds {
  int size;  ///< bytes of a total
  /// totals[g] ← the operator's identity.
  void (*clear)(void* totals, std::int64_t count);
  /// totals[numbers[i]] ← totals[numbers[i]] ⊕ values[i], one i after the other.
  void (*fold)(const void* values, const std::uint32_t* numbers, std::int64_t n, void* totals);
  /// The same of values[at[i]].
  void (*fold_at)(const void* values, const std::int64_t* at, const std::uint32_t* numbers, std::int64_t n,
                  void* totals);
  /// totals[to[i]] ← the total of values[at[i]] alone.
  void (*lift)(const void* values, const std::int64_t* at, const std::uint32_t* to, std::int64_t n, void* totals);
  /// totals[numbers[i]] ← totals[numbers[i]] ⊕ others[i], one i after the other.
  void (*merge)(const void* others, const std::uint32_t* numbers, std::int64_t n, void* totals);
  /// to[places[i]] ← totals[i].
  void (*move)(const void* totals, const std::uint32_t* places, std::int64_t n, void* to);
  /// out[places[i]] ← totals[i]. Of those that do not fit the i with the lowest place, or kNoIndex.
  std::int64_t (*write)(const void* totals, const std::int64_t* places, std::int64_t n, void* out);
};

Folds folds_of(const Call& call);

}  // namespace upsweep::impl::group_by
