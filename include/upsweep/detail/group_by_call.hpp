// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/group_by_call.hpp: a call of group_by() as the compiled library receives it, with erased types.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include "upsweep/detail/go_on.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// The result of group_by().
struct Grouped {
  std::int64_t groups;    ///< number of keys and values that were written
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

struct GroupByCall {
  const void* keys = nullptr;
  Type key_type = Type::int64;
  const void* in = nullptr;  ///< the values
  std::int64_t n = 0;        ///< rows: keys, and values
  Type in_type = Type::int64;
  Type out_type = Type::int64;
  Operator op = Operator::add;

  void* out_keys = nullptr;
  void* out = nullptr;
  std::int64_t* out_counts = nullptr;  ///< the rows of each group; null: not requested
  std::int64_t keys_capacity = 0;      ///< groups that `out_keys` holds
  std::int64_t capacity = 0;
  std::int64_t counts_capacity = 0;  ///< if counts are requested

  const gpu::Launch* launch = nullptr;  ///< where it runs on a GPU; null: the arrays are in host memory
  const gpu::Policy* device_policy = nullptr;
  bool checked = false;         ///< a sum of integers that does not fit is an error
  const GoOn* go_on = nullptr;  ///< null: the call cannot be ended

  // Set by the rung.
  std::int64_t groups = 0;          ///< number of groups
  std::int64_t bad_row = kNoIndex;  ///< the first row of the first group whose sum does not fit
  std::exception_ptr failure = {};  ///< thrown by a call that the rung made
};

/// Runs the rung that the policy names, or the top rung that supports the call. Throws Error.
Grouped run_group_by(const Policy& policy, GroupByCall call);
/// Runs the call on a GPU, and waits.
Grouped run_group_by(const gpu::Policy& policy, GroupByCall call);

}  // namespace detail
}  // namespace upsweep
