// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_lookahead.cu: one pass over the content at the speed of a copy: scan's pipeline, which begins anew at heads.
//
// Idea   A pass over the bounds checks them and sets a bit where a list begins: a few consecutive lists per thread, most of
//        which begin in one word. The scan is that of scan's cuda.lookahead, over pairs: the fold since the last head, and
//        whether there is one; the bits of a tile come with its elements. See problems/lists/segmented_scan/heads.cu and cuda_lookahead.cuh.
// Cost   Bounds read, a bit per element written twice and read; content read, as much written.
// Needs  Compute capability 9.0; no null elements. A bit per element, 16 to 32 bytes per tile of 25 KB, zero before the first
//        call.
// Limit  The memory, and the pass before: of lists of three float32 a seventh of the bytes, read before the content.
// From   As scan's cuda.lookahead; S. Sengupta, M. Harris, Y. Zhang, J. D. Owens, "Scan Primitives for GPU Computing", 2007.
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
  if (call.valid.is_given()) return "takes no null elements";
  const char* const reason = gpu::lookahead_refusal(call.launch->device);
  return reason != nullptr ? reason : heads_only(call, policy);
}

}  // namespace

extern const Rung cuda_lookahead{.info = {.id = "cuda.lookahead",
                                          .idea = "one pass: scan's pipeline, heads of lists as bits",
                                          .needs = "compute capability 9.0",
                                          .traffic = kOnePass,
                                          .cost = "n, n/(32·multiprocessors)",
                                          .limit = "the memory"},
                                 .refusal = lookahead_refusal,
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::impl::segmented_scan
