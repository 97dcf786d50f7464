// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/filtered_sum_call.hpp: a filtered sum of products as the compiled library receives it.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::detail {

struct FilteredSumCall {
  const std::uint32_t* key = nullptr;
  const std::int64_t* quantity = nullptr;
  const std::int64_t* price = nullptr;
  std::int64_t n = 0;
  const std::int64_t* n_at = nullptr;  ///< on a GPU: the number of rows in device memory, at most n; null: n
  std::uint32_t limit = 0;
  std::int64_t* out = nullptr;          ///< receives the sum; on a GPU in its memory
  const gpu::Launch* launch = nullptr;  ///< where it runs on a GPU; null: the columns are in host memory
  bool out_is_reached = false;          ///< on a GPU: the caller has ensured access to `out`, also on another device
  bool waits = false;                   ///< on a GPU: the caller adds the partial sums below
  // Set by a rung on a GPU, valid once the stream's work is done: device memory, the scratch or `out`.
  const std::int64_t* partials = nullptr;
  std::int64_t partial_count = 0;
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_filtered_sum(const Policy& policy, FilteredSumCall& call);
/// Runs the call on a GPU, into device memory.
std::string_view run_filtered_sum(const gpu::Policy& policy, FilteredSumCall& call);
/// Runs the call on a GPU, waits, and sets `sum`. call.out is null.
std::string_view run_filtered_sum_and_wait(const gpu::Policy& policy, FilteredSumCall& call, std::int64_t& sum);
/// Returns the workspace that both need for call.n rows.
gpu::WorkspaceSize filtered_sum_workspace(const gpu::Policy& policy, const FilteredSumCall& call);

/// Throws unequal_lengths unless all columns have the same number of rows.
void require_columns(std::int64_t keys, std::int64_t quantities, std::int64_t prices);

}  // namespace upsweep::detail
