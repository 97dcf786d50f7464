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
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
  gpu::SelectStatus* status = nullptr;  ///< on a GPU: where the outcome goes
  // Set by the library:
  std::int64_t kept = 0;  ///< elements that come first
};

/// Kept elements first, then the others, by the rung that the policy names, or the top one that fits; returns its id and
/// throws Error.
std::string_view run_partition(const Policy& policy, PartitionCall& call);
/// The same on a GPU. Without call.status it waits.
std::string_view run_partition(const gpu::Policy& policy, PartitionCall& call);
/// What it takes on a GPU, whatever the columns.
gpu::WorkspaceSize partition_workspace(const gpu::Policy& policy, const PartitionCall& call);

}  // namespace upsweep::detail
