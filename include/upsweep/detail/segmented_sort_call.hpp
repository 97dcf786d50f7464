// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_sort_call.hpp: a sort per list as the compiled library receives it.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

namespace impl::segmented_sort {
struct SortPlan;
}

namespace detail {

struct SegmentedSortCall {
  Lists lists = {};
  const void* content = nullptr;
  std::int64_t n = 0;         ///< elements of the content
  Type type = Type::float64;  ///< of its elements
  bool descending = false;
  bool nan_first = false;
  void* out = nullptr;                                   ///< elements in order; null where positions are asked for
  std::int64_t* positions = nullptr;                     ///< which element of its list comes there, else null
  std::int64_t capacity = 0;                             ///< elements of the output
  std::int64_t elements = 0;                             ///< of all lists: what the call finds
  const impl::segmented_sort::SortPlan* plan = nullptr;  ///< what is known of the lists when a rung runs
  const gpu::Launch* launch = nullptr;                   ///< where on a GPU; null: the arrays are the host's
  gpu::ListsStatus* status = nullptr;                    ///< there: where the outcome goes
  bool waits = false;                                    ///< there: the call may wait for the device
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_segmented_sort(const Policy& policy, SegmentedSortCall& call);

/// The same on a GPU: waits and throws where `call` has no status.
std::string_view run_segmented_sort(const gpu::Policy& policy, SegmentedSortCall& call);
gpu::WorkspaceSize segmented_sort_workspace(const gpu::Policy& policy, const SegmentedSortCall& call);

}  // namespace detail
}  // namespace upsweep
