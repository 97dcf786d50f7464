// SPDX-License-Identifier: Apache-2.0
// cpu/list_units.hpp: lists taken a thousand at a time: their bounds as starts and lengths of 64 bits, and which one is bad.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/lists.hpp"
#include "cpu/segments.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::cpu {

/// Lists of a unit.
inline constexpr std::int64_t kUnitLists = tuning::kLists.unit;

inline std::int64_t list_units(const Lists& lists) { return parts(lists.count, kUnitLists); }

/// The bounds of a unit's lists. A null list is an empty one.
struct ListUnit {
  std::int64_t count = 0;
  std::int64_t most = 0;  ///< no list is longer: all lengths, combined by inclusive or
  std::int64_t starts[kUnitLists];
  std::int64_t lengths[kUnitLists];

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += lengths[i];
    return sum;
  }
};

/// Reads so many lists. Negative where one may be bad: where none is, no difference has wrapped around.
template <class Bounds>
std::int64_t read_bounds(Bounds bounds, std::int64_t first, std::int64_t count, std::int64_t content, ListUnit& unit) {
  std::int64_t* __restrict const starts = unit.starts;
  std::int64_t* __restrict const lengths = unit.lengths;
  std::int64_t most = 0;
  std::int64_t signs = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = bounds.start(first + i);
    const std::int64_t stop = bounds.stop(first + i);
    starts[i] = start;
    lengths[i] = stop - start;
    most |= stop - start;
    signs |= start | stop | (stop - start) | (content - stop);
  }
  unit.most = most;
  return signs;
}

/// Reads the lists of unit number `which`. Returns the first that is bad in `content` elements, or kNoIndex.
inline std::int64_t read_unit(const Lists& lists, std::int64_t which, std::int64_t content, ListUnit& unit) {
  const Range range = part_of(lists.count, kUnitLists, which);
  unit.count = range.count;
  const std::int64_t signs =
      visit_bounds(lists, [&](auto bounds) { return read_bounds(bounds, range.first, range.count, content, unit); });
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
