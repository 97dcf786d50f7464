// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/select_call.hpp: selections as the compiled library receives them.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include "upsweep/detail/allocate_outputs.hpp"
#include "upsweep/detail/content_column.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {
/// A column that a selection, a partition or a take moves.
using SelectColumn = ContentColumn;

namespace gpu {

/// The outcome of a selection or a partition that does not wait, in device memory.
struct SelectStatus {
  std::int64_t first_bad;  ///< the first invalid list; kNoIndex: none
  std::int64_t kept;       ///< elements that are kept; unspecified if a list is invalid
  /// The error of that list; unequal_lengths if the capacity of an output is too small; otherwise ok.
  Code code;
};

}  // namespace gpu

namespace detail {

struct SelectCall {
  bool has_lists = false;
  Lists lists = {};  ///< of the content; without lists, the content is treated as one list
  Mask mask = {};
  std::int64_t* out_offsets = nullptr;  ///< lists.count + 1 offsets; null: not requested
  std::span<const SelectColumn> columns = {};
  AllocateOutputs allocate_outputs = {};  ///< sets the columns' outputs for the kept elements; not given: they are set
  const gpu::Launch* launch = nullptr;    ///< where on a GPU; null: the arrays are in host memory
  gpu::SelectStatus* status = nullptr;    ///< on a GPU: receives the outcome
  // Set by the library:
  std::int64_t capacity = 0;        ///< elements that the smallest output holds
  std::int64_t kept = 0;            ///< elements that were kept
  std::exception_ptr failure = {};  ///< thrown by allocate_outputs
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_select(const Policy& policy, SelectCall& call);
/// Runs the call on a GPU. Without call.status it waits, and throws if the lists are invalid or the capacity is too
/// small.
std::string_view run_select(const gpu::Policy& policy, SelectCall& call);
/// Returns the workspace that run_select() on a GPU needs for such a call.
gpu::WorkspaceSize select_workspace(const gpu::Policy& policy, const SelectCall& call);

}  // namespace detail
}  // namespace upsweep
