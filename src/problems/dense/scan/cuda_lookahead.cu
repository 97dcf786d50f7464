// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_lookahead.cu: one pass at the speed of a copy: persistent blocks, bulk copies, early totals.
//
// Idea   Every block reads the totals that all blocks publish, and computes the running prefix itself. So no block
//        waits for another block's prefix. Different warps do the copies into shared memory, the folds, the waits, the
//        scans and the copies out, so that memory is never idle. See upsweep/detail/tile_pipeline.cuh. A small scan is
//        one launch of one block or one cluster (small_scan.cuh).
// Cost   n read, n written. Work 4n, depth n/(32·multiprocessors) and the folds.
// Needs  Compute capability 9.0 or later. 16 bytes of workspace per 25 KB, zero before the first call.
// Limit  The memory: 97 to 98 % of a copy's rate on an H200 (docs/tuning.md explains the rest).
// From   D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002; the
//        look-ahead of CCCL's issue 6811; own measurements (docs/tuning.md).
#include "problems/dense/scan/cuda_compiled.cuh"

namespace upsweep::impl::scan {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  if (call.device != nullptr) return call.device->lookahead.run(call);
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return lookahead_from<In>(call); });
}

gpu::WorkspaceSize workspace(const detail::ScanCall& call) noexcept {
  if (call.device != nullptr) return call.device->lookahead.workspace(call);
  return workspace_of_types(
      call, [&]<class Problem>(std::type_identity<Problem>) { return gpu::detail::workspace_bytes<Problem>(call.n); });
}
#endif

const char* lookahead_refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  const auto refusal = call.device != nullptr ? call.device->lookahead_refusal : gpu::lookahead_refusal;
  const char* const reason = refusal(call.launch->device);
  return reason != nullptr ? reason : single_pass_refusal(call, policy);
}

}  // namespace

extern const Rung cuda_lookahead{.info = {.id = "cuda.lookahead",
                                          .idea = "one pass: every block folds all totals before it",
                                          .needs = "compute capability 9.0",
                                          .traffic = "n read, n written",
                                          .cost = "4n, n/(32·multiprocessors)",
                                          .limit = "the memory"},
                                 .refusal = lookahead_refusal,
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::impl::scan
