// SPDX-License-Identifier: Apache-2.0
// cpu/list_runs.hpp: passes the lists of a work unit to kernels: runs with offsets and starts in 64 bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/adjacent_lists.hpp"
#include "core/lists.hpp"
#include "cpu/pack_kernels.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/tuning/lists.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::cpu {

/// Outputs of at least this size are stored past the caches, like those of scans.
inline constexpr std::int64_t kNonTemporalBytes = tuning::kBlocks.non_temporal_bytes;

/// Lists of a run.
inline constexpr std::int64_t kRunLists = tuning::kLists.run;

/// For kernels that need no starts.
struct NoStarts {};

/// Values for `first` … first + count - 1: in place if they are int64 in memory, otherwise converted.
class Converted {
 public:
  template <class Offsets>
  const std::int64_t* offsets(const Offsets& offsets, std::int64_t first, std::int64_t count) {
    if constexpr (std::is_same_v<Offsets, GivenOffsets<std::int64_t>>) return offsets.offsets + first;
    return fill([&](std::int64_t i) { return offsets(first + i); }, count);
  }
  template <class Starts>
  const std::int64_t* starts(const Starts& starts, std::int64_t first, std::int64_t count) {
    if constexpr (std::is_same_v<Starts, NoStarts>) {
      return nullptr;
    } else if constexpr (std::is_same_v<Starts, GivenBounds<std::int64_t>>) {
      return starts.starts + first;
    } else {
      return fill([&](std::int64_t i) { return starts.start(first + i); }, count);
    }
  }

 private:
  template <class At>
  const std::int64_t* fill(At at, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) buffer_[i] = at(i);
    return buffer_;
  }

  std::int64_t buffer_[kRunLists + kListsAhead + 1];  // uninitialized
};

/// Adjacent lists, of which a work unit has some: where their elements are written, and where they are read.
template <class Offsets, class Starts = NoStarts>
struct PathLists {
  Offsets offsets;
  std::int64_t n = 0;
  Starts starts = {};

  /// Calls kernel(run, first list of it) for some elements of list i, from its element number `into` on.
  template <class Kernel>
  bool elements(std::int64_t i, std::int64_t into, std::int64_t count, Kernel& kernel) const {
    const std::int64_t ends[] = {0, count};
    std::int64_t start = into;  // of a single list
    if constexpr (!std::is_same_v<Starts, NoStarts>) start += starts.start(i);
    return kernel(ListRun{ends, &start, 1, 0}, i);
  }

  /// Processes the work unit in order, until kernel(run, first list of it) returns false. A list that begins or ends in
  /// another work unit is a separate run. The start of the run is its first element in this work unit or, without
  /// starts, the position of that element in the list.
  template <class Kernel>
  bool for_each_run(const PathWorkUnit& unit, Kernel kernel) const {
    const std::int64_t first = offsets(0);
    const auto elements_of_list = [&](std::int64_t i) {
      if (i == n) return true;
      const std::int64_t begins = offsets(i) - first;
      const auto [from, to] = within(unit, i, begins, offsets(i + 1) - first);
      return elements(i, from - begins, to - from, kernel);
    };
    if (!elements_of_list(unit.begin.list)) return false;
    if (unit.begin.list == unit.end.list) return true;
    Converted to;
    Converted from;
    for (std::int64_t i = unit.begin.list + 1; i < unit.end.list; i += kRunLists) {
      const std::int64_t count = std::min(kRunLists, unit.end.list - i);
      const std::int64_t known = std::min(count + kListsAhead, n - i);
      const ListRun run{to.offsets(offsets, i, known + 1), from.starts(starts, i, known), count, known};
      if (!kernel(run, i)) return false;
    }
    return elements_of_list(unit.end.list);
  }

  /// Writes the work unit's elements through a stage to their place in `out`, by append(stage, run, first list).
  template <class Append>
  bool write(const PathWorkUnit& unit, void* out, std::int64_t element_size, bool non_temporal,
             const PackKernels& kernels, Append append) const {
    Stage stage;  // NOLINT(cppcoreguidelines-pro-type-member-init): bytes are written before they are read
    const std::int64_t count = unit.end.element - unit.begin.element;
    begin(stage, static_cast<std::byte*>(out) + unit.begin.element * element_size, count * element_size, non_temporal);
    return for_each_run(unit, [&](const ListRun& run, std::int64_t list) { return append(stage, run, list); }) &&
           kernels.finish(stage);
  }
};

/// Whether lists have the lengths that their offsets give.
template <class Lengths>
struct Fit {
  Lengths lengths;
  const std::int64_t* offsets;

  bool operator()(std::int64_t first, std::int64_t count) const {
    std::int64_t other = 0;  // not 0 if a length differs; negative if a list is bad
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::int64_t length = lengths(i);
      other |= length < 0 ? length : length ^ (offsets[i + 1] - offsets[i]);
    }
    return other == 0;
  }
};

}  // namespace upsweep::cpu
