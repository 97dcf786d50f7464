// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/select_call.hpp: selections, partitions and takes as the compiled library receives them.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/content_column.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {
/// What a selection, a partition or a take moves.
using SelectColumn = ContentColumn;

/// Positions in lists or in an array, counted from the end where they are negative.
struct Indices {
  const void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::int64;  ///< int32, uint32 or int64

  constexpr Indices() = default;
  template <ListBound T>
  constexpr Indices(const T* indices, std::int64_t n) : data(indices), length(n), type(type_of<T>()) {}
  template <detail::BoundArray R>
  constexpr Indices(const R& indices)  // NOLINT(google-explicit-constructor): an array of integers is indices
      : Indices(std::ranges::data(indices), std::ssize(indices)) {}
};

namespace gpu {

/// How a selection or a partition ended that does not wait, in device memory.
struct SelectStatus {
  std::int64_t first_bad;  ///< the first invalid list; kNoIndex: none
  std::int64_t kept;       ///< elements that are kept; unspecified where there is an invalid list
  Code code;               ///< what is wrong with that list, or unequal_lengths: an output has room for fewer; else ok
};

/// How a take ended that does not wait, in device memory.
struct TakeStatus {
  std::int64_t first_bad;  ///< of index_out_of_range the position of the first bad index, else the list; kNoIndex: none
  std::int64_t taken;      ///< elements that are taken; unspecified where something is bad
  Code code;               ///< what is wrong there, or unequal_lengths: an output has room for fewer; else ok
};

}  // namespace gpu

namespace detail {

struct SelectCall {
  bool has_lists = false;
  Lists lists = {};  ///< of the content; where there are none, the content is as one list
  Mask mask = {};
  std::int64_t* out_offsets = nullptr;  ///< lists.count + 1; null: they are not asked for
  std::span<const SelectColumn> columns = {};
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
  gpu::SelectStatus* status = nullptr;  ///< on a GPU: where the outcome goes
  // Set by the library:
  std::int64_t room = 0;  ///< elements that the smallest output takes
  std::int64_t kept = 0;  ///< elements that were kept
};

struct TakeCall {
  bool has_lists = false;
  Lists lists = {};        ///< of the content, as many as there are lists of indices
  Lists index_lists = {};  ///< of the indices
  Indices indices = {};
  std::int64_t content = 0;             ///< elements of the content
  std::int64_t* out_offsets = nullptr;  ///< lists.count + 1; null: they are not asked for
  std::int64_t* positions = nullptr;    ///< in the content, of each that is taken; null: they are not asked for
  std::int64_t room = 0;                ///< positions that there is room for
  std::span<const SelectColumn> columns = {};
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
  gpu::TakeStatus* status = nullptr;    ///< on a GPU: where the outcome goes
  // Set by the library:
  std::int64_t taken = 0;
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_select(const Policy& policy, SelectCall& call);
/// The same on a GPU. Without call.status it waits, and throws what is wrong with the lists or the room.
std::string_view run_select(const gpu::Policy& policy, SelectCall& call);
/// What run_select() on a GPU takes for such a call.
gpu::WorkspaceSize select_workspace(const gpu::Policy& policy, const SelectCall& call);
/// Kept elements first, then the others. Throws Error.
void run_partition(const Policy& policy, SelectCall& call);
/// The same on a GPU. Without call.status it waits.
void run_partition(const gpu::Policy& policy, SelectCall& call);
gpu::WorkspaceSize partition_workspace(const gpu::Policy& policy, const SelectCall& call);
/// Throws Error.
void run_take(const Policy& policy, TakeCall& call);
/// The same on a GPU. Without call.status it waits, and throws what is wrong with lists, indices or the room.
void run_take(const gpu::Policy& policy, TakeCall& call);
gpu::WorkspaceSize take_workspace(const gpu::Policy& policy, const TakeCall& call);

}  // namespace detail
}  // namespace upsweep
