// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_cub_newer.cu: cub::DeviceScan of a CUB from PyPI that is newer than the toolkit's.
//
// Idea   As cuda.cub. One program contains both versions, because the names of CUB's kernels include its version. The
//        names of libcu++ do not include its version, so this rung uses only functions of libcu++ that are inlined.
// Cost   n read, n written; one more kernel, which clears the tiles' states.
// Needs  nvidia-cuda-cccl from PyPI in .venv when upsweep was built.
// Limit  As cuda.cub; on an H200 CUB 3.5 is no faster than 3.0 (docs/tuning.md).
// From   CCCL, https://github.com/NVIDIA/cccl.
#include "problems/dense/scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/dense/scan/cuda_cub.cuh"

static_assert(CUB_VERSION == UPSWEEP_NEWER_CUB_VERSION, "the toolkit's CUB was found instead");
#endif

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
namespace {

Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  return with_few_types(
      call.out_type, [&]<class T, class Op>(std::type_identity<T>, Op op) { return run_cub<T>(call, gpu::tuned(op)); });
}

gpu::WorkspaceSize workspace(const detail::ScanCall& call) noexcept {
  gpu::WorkspaceSize size;
  (void)with_few_types(call.out_type, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    size.scratch = cub_bytes<T>(call.n, gpu::tuned(op));
    return Status{};
  });
  return size;
}

}  // namespace
#endif

extern const Rung cuda_cub_newer{.info = {.id = "cuda.cub_newer",
                                          .idea = "cub::DeviceScan of a CUB newer than the toolkit's",
                                          .needs = "any GPU; nvidia-cuda-cccl from PyPI",
                                          .traffic = "n read, n written",
                                          .cost = "library",
                                          .limit = "blocks load nothing while they wait",
                                          .kind = Kind::library,
                                          .determinism = Determinism::no},
                                 .refusal = taught,
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::impl::scan
