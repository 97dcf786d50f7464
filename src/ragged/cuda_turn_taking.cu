// SPDX-License-Identifier: Apache-2.0
// ragged/cuda_turn_taking.cu: a thread per list, one after the other.
//
// Idea   The reference loop's iterations as threads; a barrier between turns keeps the order.
// Cost   24 bytes per list of int64, and a barrier per list. Work 2n, depth n barriers.
// Needs  Any GPU.
// Limit  As scan's cuda.turn_taking: a launch per block of 1024, as the report's kernel does not order blocks.
// From   The second step of both reports, corrected.
#include "cuda/in_order.cuh"
#include "ragged/cuda_lists.cuh"
#include "ragged/rungs.hpp"

namespace upsweep::ragged {

Status cuda_turn_taking(detail::RaggedCall& call, const Policy&) noexcept {
  return with_lengths(call, [&](const auto& lengths, std::int64_t* out) {
    return gpu::status_of(gpu::scan_by_turns(lengths, out, call.n, call.launch->stream));
  });
}

}  // namespace upsweep::ragged
