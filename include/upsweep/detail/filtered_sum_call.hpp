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
  const std::int64_t* n_at = nullptr;  ///< on a GPU: how many of the n rows there are, where that is in device memory
  std::uint32_t limit = 0;
  std::int64_t* out = nullptr;          ///< where the sum goes; on a GPU in its memory
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the columns are the host's
  bool out_is_reached = false;          ///< on a GPU: the caller has seen to it, so that it may be another device's
  bool waits = false;                   ///< on a GPU: the caller adds up the partial sums that are left below
  // What a rung on a GPU leaves once the stream's work is done: device memory, the scratch or `out`.
  const std::int64_t* partials = nullptr;
  std::int64_t partial_count = 0;
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_filtered_sum(const Policy& policy, FilteredSumCall& call);
/// The same on a GPU, into device memory.
std::string_view run_filtered_sum(const gpu::Policy& policy, FilteredSumCall& call);
/// The same into `sum`, which is what it waits for; call.out is null.
std::string_view run_filtered_sum_and_wait(const gpu::Policy& policy, FilteredSumCall& call, std::int64_t& sum);
/// What both take for call.n rows.
gpu::WorkspaceSize filtered_sum_workspace(const gpu::Policy& policy, const FilteredSumCall& call);

/// Throws unequal_lengths unless the columns have as many rows.
void require_columns(std::int64_t keys, std::int64_t quantities, std::int64_t prices);

}  // namespace upsweep::detail
