// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/broadcast_call.hpp: calls that write one value per element of lists, as the library gets them.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::detail {

struct BroadcastCall {
  enum class Kind : std::uint8_t { local_index, parents, broadcast };

  Kind kind = Kind::local_index;
  Lists lists = {};                                  ///< adjacent lists
  const void* values = nullptr;                      ///< of broadcast: one value for each list
  std::int64_t element_size = sizeof(std::int64_t);  ///< of the output
  void* out = nullptr;
  std::int64_t capacity = 0;            ///< elements that the output holds
  const gpu::Launch* launch = nullptr;  ///< where it runs on a GPU; null: the arrays are in host memory
  gpu::PackStatus* status = nullptr;    ///< on a GPU: receives the outcome
};

struct BroadcastResult {
  std::int64_t total;     ///< elements in all lists; 0 for a call that does not wait
  std::string_view rung;  ///< the id of the rung that ran
};

inline BroadcastCall local_index_call(const Lists& lists, std::int64_t* index, std::int64_t capacity) {
  return {.kind = BroadcastCall::Kind::local_index, .lists = lists, .out = index, .capacity = capacity};
}
inline BroadcastCall parents_call(const Lists& lists, std::int64_t* parents, std::int64_t capacity) {
  return {.kind = BroadcastCall::Kind::parents, .lists = lists, .out = parents, .capacity = capacity};
}
inline BroadcastCall broadcast_call(const Lists& lists, const void* values, std::int64_t element_size, void* out,
                                    std::int64_t capacity) {
  return {.kind = BroadcastCall::Kind::broadcast,
          .lists = lists,
          .values = values,
          .element_size = element_size,
          .out = out,
          .capacity = capacity};
}

/// Runs the rung that the policy names, or the top rung that supports the call. Throws Error.
BroadcastResult run_broadcast(const Policy& policy, const BroadcastCall& call);
/// Runs the call on a GPU. Without call.status it waits, and throws if the lists are invalid or the capacity is too
/// small.
BroadcastResult run_broadcast(const gpu::Policy& policy, const BroadcastCall& call);
/// Does not wait. Returns the rung.
std::string_view run_broadcast_async(const gpu::Policy& policy, BroadcastCall call, gpu::PackStatus* status);

}  // namespace upsweep::detail
