// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/positions_call.hpp: what is written for each element of lists, as the compiled library receives it.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::detail {

struct PositionsCall {
  enum class Kind : std::uint8_t { local_index, parents, broadcast };

  Kind kind = Kind::local_index;
  Lists lists = {};                                  ///< adjacent ones
  const void* values = nullptr;                      ///< of broadcast: one of each list
  std::int64_t element_size = sizeof(std::int64_t);  ///< of the output
  void* out = nullptr;
  std::int64_t capacity = 0;            ///< elements that the output has room for
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
  gpu::PackStatus* status = nullptr;    ///< on a GPU: where the outcome goes
};

struct PositionsResult {
  std::int64_t total;     ///< elements in all lists; 0 of a call that does not wait
  std::string_view rung;  ///< the id of the rung that ran
};

inline PositionsCall local_index_call(const Lists& lists, std::int64_t* index, std::int64_t capacity) {
  return {.kind = PositionsCall::Kind::local_index, .lists = lists, .out = index, .capacity = capacity};
}
inline PositionsCall parents_call(const Lists& lists, std::int64_t* parents, std::int64_t capacity) {
  return {.kind = PositionsCall::Kind::parents, .lists = lists, .out = parents, .capacity = capacity};
}
inline PositionsCall broadcast_call(const Lists& lists, const void* values, std::int64_t element_size, void* out,
                                    std::int64_t capacity) {
  return {.kind = PositionsCall::Kind::broadcast,
          .lists = lists,
          .values = values,
          .element_size = element_size,
          .out = out,
          .capacity = capacity};
}

/// Runs the rung that the policy names, or the top one that fits; throws Error.
PositionsResult run_positions(const Policy& policy, const PositionsCall& call);
/// The same on a GPU. Without call.status it waits, and throws what is wrong with the lists or the room.
PositionsResult run_positions(const gpu::Policy& policy, const PositionsCall& call);
/// Does not wait. Returns the rung.
std::string_view run_positions_async(const gpu::Policy& policy, PositionsCall call, gpu::PackStatus* status);

}  // namespace upsweep::detail
