// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/group_by_call.hpp: a call of group_by() as the compiled library receives it, with the types erased.
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
  std::int64_t groups;    ///< how many keys and values were written
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
  std::int64_t* out_counts = nullptr;  ///< null: nobody asks how many rows a group has
  std::int64_t keys_capacity = 0;      ///< groups that `out_keys` holds
  std::int64_t capacity = 0;
  std::int64_t counts_capacity = 0;  ///< where counts are asked for

  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
  const gpu::Policy* device_policy = nullptr;
  bool checked = false;         ///< a sum of integers that does not fit is an error
  const GoOn* go_on = nullptr;  ///< null: nobody ends the call

  // What a rung leaves.
  std::int64_t groups = 0;          ///< how many there are
  std::int64_t bad_row = kNoIndex;  ///< the first row of the first group whose sum does not fit
  std::exception_ptr failure = {};  ///< of what the rung has called
};

/// Runs the rung that the policy names, or the top one that fits; throws Error.
Grouped run_group_by(const Policy& policy, GroupByCall call);
/// The same on a GPU. Waits.
Grouped run_group_by(const gpu::Policy& policy, GroupByCall call);

}  // namespace detail
}  // namespace upsweep
