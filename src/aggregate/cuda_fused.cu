// SPDX-License-Identifier: Apache-2.0
// aggregate/cuda_fused.cu: one kernel at the speed of reading what must be read.
//
// Idea   Keys are loaded 16 bytes at a time, eight loads per lane in flight. Rows that are kept go into a queue per
//        warp, and their payload is loaded 32 rows at a time, without waiting for it; where many are kept the payload is
//        read in order instead, line by line. Blocks publish their sums, and the last block to end folds them in
//        order. See cuda_fused.cuh.
// Cost   The keys and the touched sectors; one launch. Work n, depth n/threads + log2 n.
// Needs  Any GPU. Some kilobytes of workspace, zero before the first call.
// Limit  The rate at which the memory is read. Keys of fewer bits are the only way on.
// From   Crystal's fused tiles (Shanbhag, Madden, Yu: SIGMOD 2020), with payload loaded late as in selection vectors; the
//        last-block reduction of the CUDA samples (threadFenceReduction).
#include "aggregate/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "aggregate/cuda_fused.cuh"

namespace upsweep::aggregate {
namespace {

__global__ void __launch_bounds__(kFusedThreads, kFusedResident)
    fused_select_and_sum(const __grid_constant__ FusedCall call) {
  fused_block(call);
}

Status launch(detail::AggregateCall& call, const Policy&) noexcept { return run_fused(call, fused_select_and_sum); }

gpu::WorkspaceSize workspace(const detail::AggregateCall& call) noexcept { return fused_workspace(call); }

}  // namespace

}  // namespace upsweep::aggregate
#endif

namespace upsweep::aggregate {

extern const Rung cuda_fused{.info = {.id = "cuda.fused",
                                      .idea = "one kernel: keys by 16 bytes, kept rows queued",
                                      .needs = "any GPU",
                                      .traffic = kSectors},
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::aggregate
