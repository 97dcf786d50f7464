// SPDX-License-Identifier: Apache-2.0
// cpu/list_batch.hpp: some hundred lists at a time: their bounds in 64 bits, and the first bad list.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/lists.hpp"
#include "cpu/list_kernels.hpp"
#include "cpu/tuning/lists.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::cpu {

/// Lists [first, first + count) of a call: list k of the batch has elements from[k] … to[k] - 1. For empty and null
/// lists both are 0.
struct ListBatch {  // NOLINT(cppcoreguidelines-pro-type-member-init): bounds are written before they are read
  static constexpr std::int64_t kLists = tuning::kLists.batch;

  alignas(64) std::array<std::int64_t, kLists> from;
  alignas(64) std::array<std::int64_t, kLists> to;
  std::int64_t longest = 0;
  std::int64_t shortest = 0;

  /// Returns the first list that is bad in `content` elements, or kNoIndex. After a bad list the batch is unspecified.
  std::int64_t read(const Lists& lists, std::int64_t first, std::int64_t count, std::int64_t content,
                    const ListKernels& kernels);

 private:
  bool read_valid(const Lists& lists, std::int64_t first, std::int64_t count, std::int64_t content);
};

/// Lists of a block.
inline constexpr std::int64_t kBlockLists = tuning::kLists.block_lists;

inline std::int64_t list_blocks(const Lists& lists) { return ceil_div(lists.count, kBlockLists); }

/// Lists of a block, which workers take in any order: their bounds as starts and lengths. A null list is empty here.
struct ListBlock {
  std::int64_t count = 0;
  std::int64_t most = 0;  ///< no list is longer: inclusive or of all lengths
  std::int64_t starts[kBlockLists];
  std::int64_t lengths[kBlockLists];

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += lengths[i];
    return sum;
  }
};

/// Reads the bounds of `count` lists. Returns a negative number if one may be bad. If none is, no difference has
/// wrapped.
template <class Bounds>
std::int64_t read_bounds(Bounds bounds, std::int64_t first, std::int64_t count, std::int64_t content, ListBlock& unit) {
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

/// Reads the lists of work unit number `which`. Returns the first that is bad in `content` elements, or kNoIndex.
inline std::int64_t read_block(const Lists& lists, std::int64_t which, std::int64_t content, ListBlock& unit) {
  const Range range = block_of(lists.count, kBlockLists, which);
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
