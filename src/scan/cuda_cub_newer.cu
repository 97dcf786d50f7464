// SPDX-License-Identifier: Apache-2.0
// scan/cuda_cub_newer.cu: cub::DeviceScan of a newer CUB than the toolkit's, as far as PyPI has one.
//
// Idea   As cuda.cub. Both versions live in one program, as the names of CUB's kernels carry its version; of libcu++,
//        whose names do not, only what the compiler inlines is used.
// Cost   n read, n written; a kernel more, that clears the tiles' states.
// Needs  nvidia-cuda-cccl from PyPI in .venv when upsweep was built.
// Limit  As cuda.cub; on an H200 CUB 3.5 is no faster than 3.0 (docs/tuning.md).
// From   CCCL, https://github.com/NVIDIA/cccl.
#include "scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "scan/cuda_elements.cuh"

static_assert(CUB_VERSION == UPSWEEP_NEWER_CUB_VERSION, "the toolkit's CUB was found instead");

namespace upsweep::scan {
namespace {

/// For sums the one that CUB is tuned for.
template <class Op>
using CubOperator = std::conditional_t<std::is_same_v<Op, Add>, ::cuda::std::plus<>, Op>;

Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T, class Op>(const Elements<T, Op>& elements, T* out) {
    const CubOperator<Op> op{};
    void* const memory = call.launch->scratch;
    auto bytes = static_cast<std::size_t>(call.launch->size.scratch);
    const auto* in = elements.in;
    const gpu::Stream stream = stream_of(call);
    gpu::forget_last_error();
    if (elements.exclusive) {
      return gpu::status_of(cub::DeviceScan::ExclusiveScan(memory, bytes, in, out, op, elements.init, call.n, stream));
    }
    if (elements.has_init) {
      return gpu::status_of(
          cub::DeviceScan::InclusiveScanInit(memory, bytes, in, out, op, elements.init, call.n, stream));
    }
    return gpu::status_of(cub::DeviceScan::InclusiveScan(memory, bytes, in, out, op, call.n, stream));
  });
}

gpu::WorkspaceSize workspace(const detail::ScanCall& call) noexcept {
  std::size_t bytes = 0;
  (void)with_elements(call, [&]<class T, class Op>(const Elements<T, Op>& elements, T* out) {
    const CubOperator<Op> op{};
    gpu::forget_last_error();
    return gpu::status_of(cub::DeviceScan::InclusiveScan(nullptr, bytes, elements.in, out, op, call.n));
  });
  return {.scratch = static_cast<std::int64_t>(bytes)};
}

}  // namespace

}  // namespace upsweep::scan
#endif

namespace upsweep::scan {

extern const Rung cuda_cub_newer{.info = {.id = "cuda.cub_newer",
                                          .idea = "cub::DeviceScan of a newer CUB than the toolkit's",
                                          .needs = "any GPU; nvidia-cuda-cccl from PyPI",
                                          .traffic = "n read, n written",
                                          .kind = Kind::library,
                                          .determinism = Determinism::no},
                                 .refusal = taught,
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::scan
