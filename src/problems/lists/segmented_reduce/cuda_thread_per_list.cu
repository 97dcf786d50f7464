// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_thread_per_list.cu: every thread loops over one list.
//
// Idea   The loop over lists becomes one thread per list; the loop over elements stays.
// Cost   One pass, if lists are so short that a warp reads adjacent addresses. Work n, depth the longest list.
// Needs  Any GPU.
// Limit  One thread processes one list. Therefore a warp runs as long as its longest list, and only one thread works on
//        a single long list. With dozens of elements per list, each lane of a warp reads from separate cache lines.
//        cuda.warp_per_list reads long lists with adjacent lanes.
// From   The usual kernel for jagged arrays, with one thread per list; "scalar kernel" of N. Bell, M. Garland,
//        "Implementing sparse matrix-vector multiplication on throughput-oriented processors", SC 2009.
#include "problems/lists/segmented_reduce/cuda_lists.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::impl::segmented_reduce {

namespace {

#if UPSWEEP_HAS_CUDA
constexpr int kThreads = gpu::tuning::kTeaching.threads;

template <class R>
__global__ void reduce_by_threads(GivenLists lists, const typename R::In* content, R reducer) {
  // [guide: loop]
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= lists.count) return;
  const Extent list = lists.list(i);
  typename R::Value total = reducer.none();
  for (std::int64_t j = 0; j < list.length; ++j) {
    const typename R::In x = reducer.reads() ? content[list.start + j] : typename R::In{};
    total = reducer.merge(total, reducer.of(x, j));
  }
  write_result(reducer, i, total, [&] { return list.length == 0; });
  // [guide: end]
}

Status launch(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  return with_taught(call, [&]<class R>(const R& reducer) {
    const auto blocks = static_cast<unsigned>((call.lists.count + kThreads - 1) / kThreads);
    return gpu::detail::launch({.blocks = blocks, .threads = kThreads, .stream = call.launch->stream},
                               reduce_by_threads<R>, lists_of(call), content_of<typename R::In>(call).data, reducer);
  });
}
#endif

}  // namespace

extern const Rung cuda_thread_per_list{
    .info = {.id = "cuda.thread_per_list",
             .idea = "a thread loops over each list",
             .needs = "any GPU",
             .traffic = kOnePass,
             .cost = "n, the longest list",
             .limit = "the longest list of a warp; cache lines that lanes do not share"},
    .refusal = taught_refusal,
    .run = launch};

}  // namespace upsweep::impl::segmented_reduce
