// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_cub.cu: one CUB scan over an iterator that computes differences and checks them.
//
// Idea   A library's scan with a fused input: no intermediate result is stored in memory.
// Cost   24 bytes per list of int64.
// Needs  Any GPU. Temporary memory as CUB requires it.
// Limit  Same as scan's cuda.cub: blocks load nothing while they wait.
// From   CUB 3 of the CUDA toolkit. "Evaluation task for Awkward Array GSoC project" (P. Das 2020) names CUB as faster
//        than Thrust.
#include "problems/lists/offsets/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>
#endif

namespace upsweep::impl::offsets {

#if UPSWEEP_HAS_CUDA
namespace {

template <class T>
cudaError_t scan_lengths(void* temporary, std::size_t& bytes, const Lengths<T>& lengths, std::int64_t* out,
                         std::int64_t n, gpu::Stream stream) {
  gpu::forget_last_error();
  const auto elements = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), lengths);
  return cub::DeviceScan::InclusiveScan(temporary, bytes, elements, out, lengths.op, n, stream);
}

Status launch(detail::OffsetsCall& call, const Policy&) noexcept {
  return with_lengths(call, [&](const auto& lengths, std::int64_t* out) {
    auto bytes = static_cast<std::size_t>(call.launch->size.scratch);
    return gpu::status_of(scan_lengths(call.launch->scratch, bytes, lengths, out, call.n, call.launch->stream));
  });
}

gpu::WorkspaceSize workspace(const detail::OffsetsCall& call) noexcept {
  return visit_list_bound(call.type, [&]<class T>(std::type_identity<T>) -> gpu::WorkspaceSize {
    std::size_t bytes = 0;
    (void)scan_lengths(nullptr, bytes, lengths_of<T>(call), call.offsets, call.n, nullptr);
    return {.scratch = static_cast<std::int64_t>(bytes)};
  });
}

}  // namespace
#endif

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "one CUB scan over an iterator of differences",
                                    .needs = "any GPU",
                                    .traffic = "2n read, n written",
                                    .cost = "library",
                                    .limit = "blocks that load nothing while they wait",
                                    .kind = Kind::library},
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::offsets
