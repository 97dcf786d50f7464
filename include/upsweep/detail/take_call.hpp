// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/take_call.hpp: takes as the compiled library receives them.
#pragma once

#include <cstdint>
#include <exception>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/select_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// Positions in lists or in an array. Negative positions count from the end.
struct Indices {
  const void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::int64;  ///< int32, uint32 or int64

  constexpr Indices() = default;
  template <ListBound T>
  constexpr Indices(const T* indices, std::int64_t n) : data(indices), length(n), type(type_of<T>()) {}
  template <std::ranges::range R>
  constexpr Indices(const R& indices)  // NOLINT(google-explicit-constructor): an array of integers is indices
      : Indices(detail::bounds_of(indices), detail::length_of(indices)) {}
  template <class... T>
    requires detail::HasFloat<T...>
  constexpr Indices(const T&... /*arguments*/) {  // NOLINT(google-explicit-constructor): refused
    detail::refuse_float<T...>();
  }
};

namespace gpu {

/// The outcome of a take that does not wait, in device memory.
struct TakeStatus {
  std::int64_t first_bad;  ///< index_out_of_range: the first bad index; other errors: the bad list; kNoIndex: none
  std::int64_t taken;      ///< elements that are taken; unspecified after an error
  Code code;               ///< the error there; unequal_lengths if an output is too small; otherwise ok
};

}  // namespace gpu

namespace detail {

struct TakeCall {
  bool has_lists = false;
  Lists lists = {};        ///< of the content; one for each list of indices
  Lists index_lists = {};  ///< of the indices
  Indices indices = {};
  std::int64_t content = 0;             ///< elements of the content
  std::int64_t* out_offsets = nullptr;  ///< lists.count + 1 offsets; null: not requested
  std::int64_t* positions = nullptr;    ///< in the content, of each taken element; null: not requested
  std::int64_t capacity = 0;            ///< positions that fit
  std::span<const SelectColumn> columns = {};
  AllocateOutputs allocate_outputs =
      {};  ///< of lists: sets the columns' outputs for the taken elements; not given: they are set
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are in host memory
  gpu::TakeStatus* status = nullptr;    ///< on a GPU: receives the outcome
  // Set by the library:
  std::int64_t taken = 0;
  std::exception_ptr failure = {};  ///< thrown by allocate_outputs
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_take(const Policy& policy, TakeCall& call);
/// Runs the call on a GPU. Without call.status it waits, and throws if lists or indices are invalid or the capacity is
/// too small.
std::string_view run_take(const gpu::Policy& policy, TakeCall& call);
gpu::WorkspaceSize take_workspace(const gpu::Policy& policy, const TakeCall& call);

}  // namespace detail
}  // namespace upsweep
