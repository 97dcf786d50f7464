// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/combinations_call.hpp: combinations and cartesian products as the compiled library receives them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

namespace combining {
struct Plan;
}

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
  std::int64_t* offsets = nullptr;        ///< of the tuples of each list; null: not asked for
  std::int64_t* const* out = nullptr;     ///< n arrays; null: the tuples are only counted
  std::int64_t room = 0;                  ///< elements of each
  std::int64_t total = 0;                 ///< tuples: what the call finds
  const combining::Plan* plan = nullptr;  ///< what is known of the lists when a rung runs
  const gpu::Launch* launch = nullptr;    ///< where on a GPU; null: the arrays are the host's
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_combinations(const Policy& policy, CombinationsCall& call);

/// Throws unequal_lengths unless `offsets` are those of so many lists.
void require_tuple_offsets(std::int64_t offsets, std::int64_t lists);

}  // namespace detail
}  // namespace upsweep
