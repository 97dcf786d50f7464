// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_cub.cu: cub::DeviceScan, a CUDA programmer's first choice.
//
// Idea   One pass with decoupled look-back: a tile that waits for its prefix looks back over the tiles before it. It
//        adds their totals until it reaches a tile that has published its prefix.
// Cost   n read, n written; one more kernel, which clears the tiles' states.
// Needs  Any GPU. Temporary memory of the size that CUB requests.
// Limit  72 to 82 % of a copy on an H200: a block holds one tile and loads nothing while it waits.
// From   CUB 3 of the CUDA toolkit; Merrill and Garland, NVR-2016-002.
#include "problems/dense/scan/cuda_compiled.cuh"

namespace upsweep::impl::scan {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) { return cub_from<T>(call); });
}

gpu::WorkspaceSize workspace(const detail::ScanCall& call) noexcept {
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    return gpu::WorkspaceSize{.scratch = cub_bytes_from<T>(call.n)};
  });
}
#endif

const char* cub_refusal(const detail::ScanCall& call, const Policy&) noexcept {
  if (call.op == Operator::custom) return "runs the compiled operators and types only";
  return call.in_type != call.out_type ? "needs the same type in and out" : nullptr;
}

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "cub::DeviceScan",
                                    .needs = "any GPU",
                                    .traffic = "n read, n written",
                                    .cost = "library",
                                    .limit = "blocks load nothing while they wait",
                                    .kind = Kind::library,
                                    .determinism = Determinism::no},
                           .refusal = cub_refusal,
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::scan
