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

/// What a pack moves.
using PackColumn = ContentColumn;

namespace gpu {

/// How a pack ended that does not wait, in device memory.
struct PackStatus {
  std::int64_t first_bad;  ///< the first list that is invalid, or that its offset does not fit; kNoIndex: none
  std::int64_t total;      ///< elements in all lists; unspecified where there is an invalid one
  Code code;  ///< what is wrong with that list; without one unequal_lengths: an output has less capacity; else ok
};

}  // namespace gpu

namespace detail {

struct PackCall {
  Lists lists = {};
  const void* sizes =
      nullptr;  ///< of list views: as many elements each, of the type of the starts; there are no stops then
  std::span<const PackColumn> columns = {};
  /// The length of all columns. Without columns nothing is known of it, unless it is given.
  std::int64_t content = std::numeric_limits<std::int64_t>::max();
  std::int64_t capacity = 0;        ///< the least of all columns
  std::int64_t* offsets = nullptr;  ///< n + 1: written; where they are given, read
  bool offsets_given = false;
  std::int64_t total = 0;               ///< elements in all lists; set by the call
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
  gpu::PackStatus* status = nullptr;    ///< on a GPU: where the outcome goes
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error. The columns say how long
/// the content is, or, where there are none, call.content: where that is not given either, lists may end anywhere.
std::string_view run_pack(const Policy& policy, PackCall& call);
/// The same on a GPU. Without call.status it waits, sets the total, and throws what is wrong with the lists or the
/// capacity.
std::string_view run_pack(const gpu::Policy& policy, PackCall& call);
/// What run_pack() on a GPU takes for such a call, whatever its offsets.
gpu::WorkspaceSize pack_workspace(const gpu::Policy& policy, const PackCall& call);

/// A conversion of broadcast.hpp on a GPU. Which of the arrays it has, and what they are, is its own affair.
struct ConversionCall {
  enum class Kind : std::uint8_t { lengths_to_offsets, flatten, parents_to_offsets, broadcast_to_offsets };

  Kind kind = Kind::lengths_to_offsets;
  Lists lists = {};                       ///< of lengths and parents, which are its starts, those arrays as they are
  Lists inner = {};                       ///< of flatten
  const std::int64_t* offsets = nullptr;  ///< given ones
  std::int64_t content = 0;
  void* out = nullptr;
  std::int64_t capacity = 0;          ///< of the output
  gpu::PackStatus* status = nullptr;  ///< where the outcome goes, or null: then the call waits
  const gpu::Launch* launch = nullptr;
};

/// Runs it; where it waits, returns the elements of all lists. Throws Error.
std::int64_t run_conversion(const gpu::Policy& policy, ConversionCall call);
/// What any operation of broadcast.hpp takes on so many lists and elements.
gpu::WorkspaceSize broadcast_workspace(const gpu::Policy& policy, std::int64_t lists, std::int64_t elements);

// The conversions on the CPU. All throw Error; those that return something, the number of elements written.
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
