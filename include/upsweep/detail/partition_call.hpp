// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/partition_call.hpp: partitions as the compiled library receives them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/select_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::detail {

struct PartitionCall {
  Mask mask = {};
  std::span<const SelectColumn> columns = {};
  const gpu::Launch* launch = nullptr;  ///< where it runs on a GPU; null: the arrays are in host memory
  gpu::SelectStatus* status = nullptr;  ///< on a GPU: receives the outcome
  // Set by the library:
  std::int64_t kept = 0;  ///< kept elements, which come first
};

/// Writes the kept elements first, then the others, by the rung that the policy names, or by the top rung that supports
/// the call. Returns its id; throws Error.
std::string_view run_partition(const Policy& policy, PartitionCall& call);
/// Runs the call on a GPU. Without call.status it waits.
std::string_view run_partition(const gpu::Policy& policy, PartitionCall& call);
/// Returns the workspace that it needs on a GPU, whatever the columns.
gpu::WorkspaceSize partition_workspace(const gpu::Policy& policy, const PartitionCall& call);

}  // namespace upsweep::detail
