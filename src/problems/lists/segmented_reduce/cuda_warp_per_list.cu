// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_warp_per_list.cu: every warp folds one list with adjacent lanes.
//
// Idea   The lanes of a warp read adjacent elements of a list, and shuffles combine their folds.
// Cost   One pass. Work n + 32 per list, depth the longest list / 32 + 5.
// Needs  Any GPU.
// Limit  With three elements per list, 29 lanes are idle. Only one warp processes a single long list. cuda.lanes
//        chooses the number of lanes by the length of the list.
// From   "Vector kernel" of N. Bell, M. Garland, "Implementing sparse matrix-vector multiplication on
//        throughput-oriented processors", SC 2009.
#include "problems/lists/segmented_reduce/cuda_lists.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::impl::segmented_reduce {

namespace {

#if UPSWEEP_HAS_CUDA
constexpr int kWarps = gpu::tuning::kTeaching.list_warps;

template <class R>
__global__ void reduce_by_warps(GivenLists lists, Content<typename R::In> content, R reducer) {
  // [guide: warp]
  const std::int64_t i = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (i >= lists.count) return;
  const Extent list = lists.list(i);
  const auto total = fold_lanes<32>(reducer, fold_strided<4>(reducer, content, list.start, lane, list.length, 32));
  if (lane == 0) write_result(reducer, i, total, [&] { return list.length == 0; });
  // [guide: end]
}

Status launch(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  return with_taught(call, [&]<class R>(const R& reducer) {
    const auto blocks = static_cast<unsigned>((call.lists.count + kWarps - 1) / kWarps);
    return gpu::detail::launch({.blocks = blocks, .threads = kWarps * 32, .stream = call.launch->stream},
                               reduce_by_warps<R>, lists_of(call), content_of<typename R::In>(call), reducer);
  });
}
#endif

}  // namespace

extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "a warp folds each list with adjacent lanes",
                                              .needs = "any GPU",
                                              .traffic = kOnePass,
                                              .cost = "n + 32 per list, the longest list / 32",
                                              .limit = "idle lanes"},
                                     .refusal = taught_refusal,
                                     .run = launch};

}  // namespace upsweep::impl::segmented_reduce
