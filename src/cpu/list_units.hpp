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
  std::int64_t most;  ///< no list is longer: all lengths, combined by inclusive or
  std::int64_t starts[kUnitLists];
  std::int64_t lengths[kUnitLists];

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += lengths[i];
    return sum;
  }
};

/// Reads the lists of unit number `which`. Returns the first that is bad in `content` elements, or kNoIndex.
inline std::int64_t read_unit(const Lists& lists, std::int64_t which, std::int64_t content, ListUnit& unit) {
  const Range range = part_of(lists.count, kUnitLists, which);
  unit.count = range.count;
  unit.most = 0;
  std::int64_t signs = 0;  // where none is set no difference below has wrapped around, and all lists are good
  visit_bounds(lists, [&](auto bounds) {
    std::int64_t* __restrict const starts = unit.starts;
    std::int64_t* __restrict const lengths = unit.lengths;
    for (std::int64_t i = 0; i < range.count; ++i) {
      const std::int64_t start = bounds.start(range.first + i);
      const std::int64_t stop = bounds.stop(range.first + i);
      const std::int64_t length = stop - start;
      starts[i] = start;
      lengths[i] = length;
      unit.most |= length;
      signs |= start | stop | length | (content - stop);
    }
  });
  if (!lists.valid.is_given() && signs >= 0) return kNoIndex;
  unit.most = 0;
  for (std::int64_t i = 0; i < range.count; ++i) {
    const bool is_null = lists.valid.is_given() && !lists.valid[range.first + i];
    if (is_null) unit.lengths[i] = 0;
    if (!is_null && check_list(unit.starts[i], unit.starts[i] + unit.lengths[i], content) != Code::ok) {
      return range.first + i;
    }
    unit.most |= unit.lengths[i];
  }
  return kNoIndex;
}

}  // namespace upsweep::cpu
