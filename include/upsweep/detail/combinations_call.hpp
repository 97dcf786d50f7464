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

/// How a call ended that does not wait, in device memory.
struct CombinationsStatus {
  std::int64_t first_bad;  ///< the first list that is invalid, or whose tuples are too many; kNoIndex: none
  std::int64_t total;      ///< tuples; unspecified where there is such a list
  Code code;  ///< what is wrong with that list; without one unequal_lengths: there is too little capacity; else ok
};

}  // namespace gpu

namespace detail {

/// The lists of one array, and how many elements its content has.
struct ListsOf {
  Lists lists = {};
  std::int64_t content = 0;
};

struct CombinationsCall {
  std::span<const ListsOf> inputs = {};  ///< one, or those of a cartesian product
  std::int64_t n = 0;                    ///< positions of a tuple
  bool is_cartesian = false;
  bool replacement = false;
  std::int64_t* offsets = nullptr;                       ///< of the tuples of each list; null: not asked for
  std::int64_t* const* out = nullptr;                    ///< n arrays; null: the tuples are only counted
  std::int64_t capacity = 0;                             ///< elements of each
  std::int64_t total = 0;                                ///< tuples: what the call finds
  const impl::combinations::TuplesPlan* plan = nullptr;  ///< what is known of the lists when a rung runs
  const gpu::Launch* launch = nullptr;                   ///< where on a GPU; null: the arrays are the host's
  gpu::CombinationsStatus* status = nullptr;             ///< on a GPU: where the outcome goes
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_combinations(const Policy& policy, CombinationsCall& call);

/// The same on a GPU. Without call.status it waits, sets the total, and throws what is wrong with the lists or the
/// capacity.
std::string_view run_combinations(const gpu::Policy& policy, CombinationsCall& call);
/// What that takes for such a call, whatever its offsets.
gpu::WorkspaceSize combinations_workspace(const gpu::Policy& policy, const CombinationsCall& call);

/// Throws unequal_lengths unless `offsets` are those of so many lists.
void require_tuple_offsets(std::int64_t offsets, std::int64_t lists);

}  // namespace detail
}  // namespace upsweep
