// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/rung.hpp: what the rungs' files need to declare their rows of the ladder.
#pragma once

#include <algorithm>
#include <vector>

#include "core/ladder.hpp"
#include "cuda/compiled.hpp"
#include "upsweep/detail/by_key_call.hpp"

namespace upsweep::impl::by_key {

using Call = detail::ByKeyCall;
/// A rung sets Call::runs. If there are more runs than outputs have capacity for, it returns unequal_lengths, and need
/// not have counted all runs.
using Rung = upsweep::Rung<Call>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// Returns the call's values, types and operator.
inline const detail::ElementsCall& elements_of(const Call& call) {
  if (call.scan != nullptr) return *call.scan;
  return *call.reduction;
}

/// Returns the number of runs that the outputs of a reduction have capacity for.
inline std::int64_t capacity_of(const Call& call) { return std::min(call.keys_capacity, call.capacity); }

/// Returns null if there are GPU kernels for the call, and otherwise the reason why not.
inline const char* device_refusal(const Call& call, const Policy&) noexcept {
  const detail::ElementsCall& elements = elements_of(call);
  if (call.scan != nullptr && call.checked) return "on a GPU scans are not checked for overflow: choose wrap";
  if (call.reduction != nullptr && call.reduction->device != nullptr) return nullptr;
  if (elements.op == Operator::custom) return "runs the compiled operators and types only";
  return compiled_refusal(elements.op, elements.in_type, elements.out_type);
}

inline constexpr const char* kOnePass = "keys and values read, results written";

}  // namespace upsweep::impl::by_key
