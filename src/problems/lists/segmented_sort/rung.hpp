// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/rung.hpp: types and functions that the files of the rungs share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ladder.hpp"
#include "core/visit.hpp"
#include "cpu/list_batch.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/detail/segmented_sort_call.hpp"

namespace upsweep::impl::segmented_sort {

/// The strategy with which kernels divide lists.
enum class Way : std::uint8_t { thread_per_list, warp_per_list, block_per_list, tiles };

using Call = detail::SegmentedSortCall;
using Rung = upsweep::Rung<Call>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

/// Lists of more elements are sorted separately, not with the other lists of their work unit.
inline constexpr std::int64_t kLongList = cpu::tuning::kListSort.long_list;

/// Results of the pass that checks the lists.
struct SortPlan {
  /// For every work unit of lists, the output position of its first list; empty if lists are not packed.
  std::vector<std::int64_t> first_out = {};
  std::vector<std::int64_t> long_lists = {};  ///< the longest first
  std::int64_t elements = 0;
};

/// The lists of a work unit and their output positions.
struct WorkUnitPlaces : cpu::ListBlock {
  std::int64_t outs[cpu::kBlockLists];

  /// Reads work unit number `which` of lists that must be valid.
  WorkUnitPlaces(const Call& call, std::int64_t which) {
    (void)cpu::read_block(call.lists, which, call.n, *this);
    std::int64_t out = call.plan->first_out.empty() ? 0 : call.plan->first_out[static_cast<std::size_t>(which)];
    for (std::int64_t i = 0; i < count; ++i) {
      outs[i] = call.plan->first_out.empty() ? starts[i] : out;
      out += lengths[i];
    }
  }
};

/// The order of elements as a comparator of the standard library.
template <class T>
struct ComesBefore {
  bool descending;
  bool nan_first;

  bool operator()(T a, T b) const {
    if (a != a || b != b) return nan_first ? a != a && b == b : b != b && a == a;
    return descending ? b < a : a < b;
  }
};

/// Sorts the lists of a work unit one after the other with std::stable_sort. Throws std::bad_alloc.
void sort_work_unit(const Call& call, std::int64_t work_unit);

}  // namespace upsweep::impl::segmented_sort
