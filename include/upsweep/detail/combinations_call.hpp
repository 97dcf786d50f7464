// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/combinations_call.hpp: combinations and cartesian products as the compiled library receives them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

namespace impl::combinations {
struct TuplesPlan;
}

namespace gpu {

/// The outcome of a call that does not wait, in device memory.
struct CombinationsStatus {
  std::int64_t first_bad;  ///< the first list that is invalid or has too many tuples; kNoIndex: none
  std::int64_t total;      ///< tuples; unspecified if there is such a list
  Code code;               ///< the error of that list; otherwise unequal_lengths if the capacity is too small, or ok
};

}  // namespace gpu

namespace detail {

/// The lists of one array, and the number of elements of its content.
struct ListsOf {
  Lists lists = {};
  std::int64_t content = 0;
};

struct CombinationsCall {
  std::span<const ListsOf> inputs = {};  ///< one input, or the inputs of a cartesian product
  std::int64_t n = 0;                    ///< positions of a tuple
  bool is_cartesian = false;
  bool replacement = false;
  std::int64_t* offsets = nullptr;                       ///< of the tuples of each list; null: not requested
  std::int64_t* const* out = nullptr;                    ///< n arrays; null: the tuples are only counted
  std::int64_t capacity = 0;                             ///< elements of each array
  std::int64_t total = 0;                                ///< tuples, set by the call
  const impl::combinations::TuplesPlan* plan = nullptr;  ///< the plan of the lists when a rung runs
  const gpu::Launch* launch = nullptr;                   ///< where on a GPU; null: the arrays are in host memory
  gpu::CombinationsStatus* status = nullptr;             ///< on a GPU: receives the outcome
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_combinations(const Policy& policy, CombinationsCall& call);

/// Runs the call on a GPU. Without call.status it waits, sets the total, and throws if the lists are invalid or the
/// capacity is too small.
std::string_view run_combinations(const gpu::Policy& policy, CombinationsCall& call);
/// Returns the workspace that such a call needs, whatever its offsets.
gpu::WorkspaceSize combinations_workspace(const gpu::Policy& policy, const CombinationsCall& call);

/// Throws unequal_lengths unless `offsets` is the number of offsets of `lists` lists.
void require_tuple_offsets(std::int64_t offsets, std::int64_t lists);

}  // namespace detail
}  // namespace upsweep
