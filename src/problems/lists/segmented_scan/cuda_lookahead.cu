// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_lookahead.cu: one pass over the content at copy rate: scan's pipeline, restarted
// at the heads of lists.
//
// Idea   A pass over the bounds checks them and sets a bit at the head of each list. A thread processes a few
//        consecutive lists, most of which begin in one word. The scan is that of scan's cuda.lookahead, over pairs: the
//        fold since the last head, and whether there is a head. The bits of a tile are loaded with its elements. See
//        problems/lists/segmented_scan/heads.cu and cuda_lookahead.cuh.
// Cost   Bounds read; a bit per element written twice and read; content read, the same number of elements written.
// Needs  Compute capability 9.0; no null elements. A bit per element, 16 to 32 bytes per tile of 25 KB, zero before the
//        first call.
// Limit  Memory bandwidth, and the pass before: with lists of three float32, it reads a seventh of the bytes before the
//        content.
// From   As scan's cuda.lookahead; S. Sengupta, M. Harris, Y. Zhang, J. D. Owens, "Scan Primitives for GPU Computing",
//        2007.
#include "cuda/device_call.hpp"
#include "problems/lists/segmented_scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#endif

namespace upsweep::impl::segmented_scan {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::SegmentedScanCall& call, const Policy&) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return lookahead_from<In>(call); });
}
gpu::WorkspaceSize workspace(const detail::SegmentedScanCall& call) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return lookahead_memory<In>(call); });
}
#endif

const char* lookahead_refusal(const detail::SegmentedScanCall& call, const Policy& policy) noexcept {
  if (call.valid.is_given()) return "does not support null elements";
  const char* const reason = gpu::lookahead_refusal(call.launch->device);
  return reason != nullptr ? reason : heads_only(call, policy);
}

}  // namespace

extern const Rung cuda_lookahead{.info = {.id = "cuda.lookahead",
                                          .idea = "one pass: scan's pipeline, heads of lists as bits",
                                          .needs = "compute capability 9.0",
                                          .traffic = kOnePass,
                                          .cost = "n, n/(32·multiprocessors)",
                                          .limit = "memory bandwidth"},
                                 .refusal = lookahead_refusal,
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::impl::segmented_scan
