// SPDX-License-Identifier: Apache-2.0
// cpu/list_units.hpp: lists taken a thousand at a time: their bounds as starts and lengths of 64 bits, and which one is bad.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/lists.hpp"
#include "cpu/segments.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::cpu {

/// Lists of a unit: enough that to take one costs nothing beside its work, and few enough that their bounds stay in the
/// core's first cache.
inline constexpr std::int64_t kUnitLists = 1024;

inline std::int64_t list_units(const Lists& lists) { return parts(lists.count, kUnitLists); }

/// The bounds of a unit's lists. A null list is an empty one.
struct ListUnit {
  std::int64_t count;
  std::int64_t starts[kUnitLists];
  std::int64_t lengths[kUnitLists];

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += lengths[i];
    return sum;
  }
  [[nodiscard]] std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < count; ++i) most = std::max(most, lengths[i]);
    return most;
  }
};

/// Reads the lists of unit number `which`. Returns the first that is bad in `content` elements, or kNoIndex.
inline std::int64_t read_unit(const Lists& lists, std::int64_t which, std::int64_t content, ListUnit& unit) {
  const Range range = part_of(lists.count, kUnitLists, which);
  unit.count = range.count;
  bool any_bad = false;
  visit_bounds(lists, [&](auto bounds) {
    for (std::int64_t i = 0; i < range.count; ++i) {
      const std::int64_t start = bounds.start(range.first + i);
      const std::int64_t stop = bounds.stop(range.first + i);
      unit.starts[i] = start;
      unit.lengths[i] = stop - start;
      any_bad |= (stop < start) | ((start != stop) & ((start < 0) | (stop > content)));
    }
  });
  if (!lists.valid.is_given() && !any_bad) return kNoIndex;
  for (std::int64_t i = 0; i < range.count; ++i) {
    if (lists.valid.is_given() && !lists.valid[range.first + i]) {
      unit.lengths[i] = 0;
    } else if (check_list(unit.starts[i], unit.starts[i] + unit.lengths[i], content) != Code::ok) {
      return range.first + i;
    }
  }
  return kNoIndex;
}

}  // namespace upsweep::cpu
