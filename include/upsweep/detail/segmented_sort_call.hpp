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
  void* out = nullptr;                                   ///< elements in order; null if positions are requested
  std::int64_t* positions = nullptr;                     ///< positions of the sorted elements in their list, or null
  std::int64_t capacity = 0;                             ///< elements of the output
  std::int64_t elements = 0;                             ///< of all lists, set by the call
  const impl::segmented_sort::SortPlan* plan = nullptr;  ///< the plan of the lists when a rung runs
  const gpu::Launch* launch = nullptr;                   ///< where on a GPU; null: the arrays are in host memory
  gpu::ListsStatus* status = nullptr;                    ///< on a GPU: receives the outcome
  bool waits = false;                                    ///< on a GPU: the call may wait for the device
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_segmented_sort(const Policy& policy, SegmentedSortCall& call);

/// Runs the call on a GPU. Waits and throws if `call` has no status.
std::string_view run_segmented_sort(const gpu::Policy& policy, SegmentedSortCall& call);
gpu::WorkspaceSize segmented_sort_workspace(const gpu::Policy& policy, const SegmentedSortCall& call);

}  // namespace detail
}  // namespace upsweep
