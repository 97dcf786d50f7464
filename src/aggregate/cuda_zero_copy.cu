// SPDX-License-Identifier: Apache-2.0
// aggregate/cuda_zero_copy.cu: the columns stay in the host's memory: keys are read over the link in order, payload by row.
//
// Idea   Sending all columns and then computing moves 20 bytes per row, of which 16 are thrown away where a row is not
//        kept. The kernel of cuda.fused reads pinned memory of the host as if it were its own: the keys in whole
//        lines, and of the payload the sectors that hold a row that is kept. Nothing is copied first.
// Cost   Over the link: 4 bytes per row, and 32 per touched sector (and a packet's header for each).
// Needs  Any GPU; columns in pinned, managed or device memory. Pageable memory is an error.
// Limit  The link. Where most rows are kept, sending the columns with the copy engine is as good.
// From   Late materialisation from the host's memory: Vortex (VLDB 2025), among others; "Exercise Session 12" (C.
//        Balkesen, ETH Zurich 2012), whose copies take 26 ms.
#include "aggregate/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "aggregate/cuda_fused.cuh"

namespace upsweep::aggregate {
namespace {

__global__ void __launch_bounds__(kFusedThreads, kFusedResident)
    zero_copy_select_and_sum(const __grid_constant__ FusedCall call) {
  fused_block(call);
}

Status launch(detail::AggregateCall& call, const Policy&) noexcept { return run_fused(call, zero_copy_select_and_sum); }

gpu::WorkspaceSize workspace(const detail::AggregateCall& call) noexcept { return fused_workspace(call); }

}  // namespace

}  // namespace upsweep::aggregate
#endif

namespace upsweep::aggregate {

extern const Rung cuda_zero_copy{.info = {.id = "cuda.zero_copy",
                                          .idea = "columns stay in the host's pinned memory",
                                          .needs = "any GPU; pinned, managed or device memory",
                                          .traffic = kSectors,
                                          .host_memory = true},
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::aggregate
