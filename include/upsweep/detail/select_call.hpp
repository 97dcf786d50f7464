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
/// What a selection, a partition or a take moves.
using SelectColumn = ContentColumn;

namespace gpu {

/// How a selection or a partition ended that does not wait, in device memory.
struct SelectStatus {
  std::int64_t first_bad;  ///< the first invalid list; kNoIndex: none
  std::int64_t kept;       ///< elements that are kept; unspecified where there is an invalid list
  /// what is wrong with that list, or unequal_lengths: an output has capacity for fewer; else ok
  Code code;
};

}  // namespace gpu

namespace detail {

struct SelectCall {
  bool has_lists = false;
  Lists lists = {};  ///< of the content; where there are none, the content is as one list
  Mask mask = {};
  std::int64_t* out_offsets = nullptr;  ///< lists.count + 1; null: they are not asked for
  std::span<const SelectColumn> columns = {};
  AllocateOutputs allocate_outputs = {};  ///< gives the columns outputs for what is kept; not given: they have outputs
  const gpu::Launch* launch = nullptr;    ///< where on a GPU; null: the arrays are the host's
  gpu::SelectStatus* status = nullptr;    ///< on a GPU: where the outcome goes
  // Set by the library:
  std::int64_t capacity = 0;        ///< elements that the smallest output takes
  std::int64_t kept = 0;            ///< elements that were kept
  std::exception_ptr failure = {};  ///< what allocate_outputs threw
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_select(const Policy& policy, SelectCall& call);
/// The same on a GPU. Without call.status it waits, and throws what is wrong with the lists or the capacity.
std::string_view run_select(const gpu::Policy& policy, SelectCall& call);
/// What run_select() on a GPU takes for such a call.
gpu::WorkspaceSize select_workspace(const gpu::Policy& policy, const SelectCall& call);

}  // namespace detail
}  // namespace upsweep
