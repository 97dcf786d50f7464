// SPDX-License-Identifier: Apache-2.0
// ragged/cuda_hillis_steele_global.cu: differences first, then a double-buffered scan, a launch for each stride.
//
// Idea   As scan's cuda.hillis_steele_global, after a kernel that checks the lists and writes their lengths.
// Cost   24 bytes per list of int64, then 16 per list and round, log2 n rounds. Work n·log2 n, depth log2 n.
// Needs  Any GPU; a second array of offsets.
// Limit  Memory traffic: 28 passes for 10^8 lists.
// From   The second report (double-buffered scan).
#include "cuda/hillis_steele.cuh"
#include "ragged/cuda_lists.cuh"
#include "ragged/rungs.hpp"

namespace upsweep::ragged {

Status cuda_hillis_steele_global(detail::RaggedCall& call, const Policy&) noexcept {
  return with_lengths(call, [&](const auto& lengths, std::int64_t* out) {
    return gpu::status_of(gpu::scan_by_rounds(lengths, out, static_cast<std::int64_t*>(call.launch->scratch), call.n,
                                              false, call.launch->stream));
  });
}

gpu::WorkspaceSize cuda_hillis_steele_global_workspace(const detail::RaggedCall& call) noexcept {
  return {.scratch = call.n * std::int64_t{sizeof(std::int64_t)}};
}

}  // namespace upsweep::ragged
