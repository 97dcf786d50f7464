// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/rung.hpp: what the files of the ladder's rungs declare their rows with, and what they know of the lists.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ladder.hpp"
#include "core/visit.hpp"
#include "cpu/list_batch.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/detail/segmented_sort_call.hpp"

namespace upsweep::impl::segmented_sort {

/// How kernels share out lists.
enum class Way : std::uint8_t { thread_per_list, warp_per_list, block_per_list, tiles };

using Call = detail::SegmentedSortCall;
using Rung = upsweep::Rung<Call>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// Lists that are not sorted beside others of their work unit, but by themselves.
inline constexpr std::int64_t kLongList = cpu::tuning::kListSort.long_list;

/// What was found out when the lists were checked.
struct SortPlan {
  /// Of every work unit of lists: where its first list goes, if they go one after the other; else empty.
  std::vector<std::int64_t> first_out = {};
  std::vector<std::int64_t> long_lists = {};  ///< the longest first
  std::int64_t elements = 0;
};

/// Where the lists of a work unit lie and where they go.
struct WorkUnitPlaces : cpu::ListBlock {
  std::int64_t outs[cpu::kBlockLists];

  /// Reads work unit number `which` of lists that are known to be good.
  WorkUnitPlaces(const Call& call, std::int64_t which) {
    (void)cpu::read_block(call.lists, which, call.n, *this);
    std::int64_t out = call.plan->first_out.empty() ? 0 : call.plan->first_out[static_cast<std::size_t>(which)];
    for (std::int64_t i = 0; i < count; ++i) {
      outs[i] = call.plan->first_out.empty() ? starts[i] : out;
      out += lengths[i];
    }
  }
};

/// The order of elements, as the standard library takes it.
template <class T>
struct ComesBefore {
  bool descending;
  bool nan_first;

  bool operator()(T a, T b) const {
    if (a != a || b != b) return nan_first ? a != a && b == b : b != b && a == a;
    return descending ? b < a : a < b;
  }
};

/// Sorts the lists of a work unit, one after the other, by std::stable_sort. Throws std::bad_alloc.
void sort_work_unit(const Call& call, std::int64_t work_unit);

}  // namespace upsweep::impl::segmented_sort
