// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/offsets_call.hpp: offsets of lists as the compiled library receives them, and their carry.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// The complete state of the lists before a point. Chunks are merged in order with merge_carries().
struct OffsetsCarry {
  std::int64_t total = 0;             ///< elements in those lists
  std::int64_t lists = 0;             ///< number of those lists
  std::int64_t first_bad = kNoIndex;  ///< the first invalid list of them
};

/// Returns the carry of the lists of `left` followed by those of `right`.
constexpr OffsetsCarry merge_carries(const OffsetsCarry& left, const OffsetsCarry& right) {
  OffsetsCarry merged{0, left.lists + right.lists, left.first_bad};
  const bool overflow = __builtin_add_overflow(left.total, right.total, &merged.total);
  if (merged.first_bad == kNoIndex && right.first_bad != kNoIndex) merged.first_bad = left.lists + right.first_bad;
  if (merged.first_bad == kNoIndex && overflow)
    merged.first_bad = left.lists;  // somewhere in right; only its lists show the position
  return merged;
}

namespace gpu {

/// The outcome of a call of offsets() that does not wait, in device memory.
struct OffsetsStatus {
  std::int64_t first_bad;  ///< the first invalid list; kNoIndex: none
  std::int64_t total;      ///< elements in all lists; unspecified if a list is invalid
  Code code;               ///< the error of that list: stop_before_start, negative_start or overflow; otherwise ok
};

}  // namespace gpu

namespace detail {

struct OffsetsCall {
  const void* starts = nullptr;
  const void* stops = nullptr;
  Type type = Type::int64;
  std::int64_t n = 0;
  const std::int64_t* n_at = nullptr;  ///< on a GPU: the number of lists in device memory, at most n; null: n
  std::int64_t* offsets = nullptr;
  bool strict = false;
  OffsetsCarry carry = {};                  ///< of the lists before these; advanced by the call, except on a GPU
  const std::int64_t* before_at = nullptr;  ///< on a GPU: a value in device memory that replaces the carry's total
  const gpu::Launch* launch = nullptr;      ///< where it runs on a GPU; null: the arrays are in host memory
  gpu::OffsetsStatus* status = nullptr;     ///< on a GPU: receives the outcome
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_offsets(const Policy& policy, OffsetsCall& call);
/// Runs the call on a GPU. Without call.status it waits, advances the carry, and throws for a bad list.
std::string_view run_offsets(const gpu::Policy& policy, OffsetsCall& call);
/// Throws for the bad list in `status`, the outcome of a call on the current device.
[[noreturn]] void throw_bad_offsets(const OffsetsCall& call, const gpu::OffsetsStatus& status, gpu::Stream stream);
/// Returns the workspace that run_offsets() on a GPU needs for call.n lists.
gpu::WorkspaceSize offsets_workspace(const gpu::Policy& policy, const OffsetsCall& call);

/// Returns the number of lists between the offsets and the ends. Throws unequal_lengths and invalid_argument.
std::int64_t list_count(std::int64_t starts, std::int64_t stops, std::int64_t starts_offset, std::int64_t stops_offset,
                        std::int64_t length);
/// Throws unequal_lengths unless `offsets` is exactly n + 1.
void require_offsets(std::int64_t offsets, std::int64_t n);

}  // namespace detail
}  // namespace upsweep
