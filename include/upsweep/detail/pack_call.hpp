// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/pack_call.hpp: packing and conversions of positions in lists as the compiled library receives them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "upsweep/detail/content_column.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/offsets_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// A column that a pack moves.
using PackColumn = ContentColumn;

namespace gpu {

/// The outcome of a pack that does not wait, in device memory.
struct PackStatus {
  std::int64_t first_bad;  ///< the first list that is invalid or does not match its offset; kNoIndex: none
  std::int64_t total;      ///< elements in all lists; unspecified if a list is invalid
  Code code;  ///< the error of that list; without one unequal_lengths if an output is too small, otherwise ok
};

}  // namespace gpu

namespace detail {

struct PackCall {
  Lists lists = {};
  const void* sizes = nullptr;  ///< of list views: the sizes, of the type of the starts; then there are no stops
  std::span<const PackColumn> columns = {};
  /// The length of all columns. Without columns it is unknown, unless it is given.
  std::int64_t content = std::numeric_limits<std::int64_t>::max();
  std::int64_t capacity = 0;        ///< the minimum of all columns
  std::int64_t* offsets = nullptr;  ///< n + 1 offsets; written, or read if they are given
  bool offsets_given = false;
  std::int64_t total = 0;               ///< elements in all lists; set by the call
  const gpu::Launch* launch = nullptr;  ///< where it runs on a GPU; null: the arrays are in host memory
  gpu::PackStatus* status = nullptr;    ///< on a GPU: receives the outcome
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error. The
/// columns determine the length of the content; without columns it is call.content. If that is not given either, lists
/// may end anywhere.
std::string_view run_pack(const Policy& policy, PackCall& call);
/// Runs the call on a GPU. Without call.status it waits, sets the total, and throws if the lists are invalid or the
/// capacity is too small.
std::string_view run_pack(const gpu::Policy& policy, PackCall& call);
/// Returns the workspace that run_pack() on a GPU needs for such a call, whatever its offsets.
gpu::WorkspaceSize pack_workspace(const gpu::Policy& policy, const PackCall& call);

/// A conversion of broadcast.hpp on a GPU. The kind determines which arrays are used, and their meaning.
struct ConversionCall {
  enum class Kind : std::uint8_t { lengths_to_offsets, flatten, parents_to_offsets, broadcast_to_offsets };

  Kind kind = Kind::lengths_to_offsets;
  Lists lists = {};                       ///< lengths and parents are stored in its starts, unchanged
  Lists inner = {};                       ///< of flatten
  const std::int64_t* offsets = nullptr;  ///< given offsets
  std::int64_t content = 0;
  void* out = nullptr;
  std::int64_t capacity = 0;          ///< of the output
  gpu::PackStatus* status = nullptr;  ///< receives the outcome; null: the call waits
  const gpu::Launch* launch = nullptr;
};

/// Runs a conversion. If it waits, returns the number of elements of all lists. Throws Error.
std::int64_t run_conversion(const gpu::Policy& policy, ConversionCall call);
/// Returns the workspace that any operation of broadcast.hpp needs for this number of lists and elements.
gpu::WorkspaceSize broadcast_workspace(const gpu::Policy& policy, std::int64_t lists, std::int64_t elements);

// The conversions on the CPU. All throw Error. A returned number is the number of elements written.
std::int64_t run_lengths_to_offsets(const Policy& policy, Type type, const void* lengths, std::int64_t n,
                                    const Mask& valid, std::int64_t* offsets);
void run_parents_to_offsets(const Policy& policy, Type type, const void* parents, std::int64_t elements, std::int64_t n,
                            std::int64_t* offsets);
std::int64_t run_broadcast_to_offsets(const Policy& policy, const Lists& lists, const std::int64_t* offsets,
                                      std::int64_t content, std::int64_t* positions, std::int64_t capacity);
void run_flatten(const Policy& policy, const Lists& outer, const Lists& inner, std::int64_t* offsets);

/// Throws unequal_lengths unless there is a value for each list.
void require_values(std::int64_t values, std::int64_t lists);

}  // namespace detail
}  // namespace upsweep
