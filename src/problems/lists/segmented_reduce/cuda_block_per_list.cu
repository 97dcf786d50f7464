// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_block_per_list.cu: every block folds one list.
//
// Idea   As cuda.warp_per_list, with all threads of a block, whose warps combine their folds in shared memory.
// Cost   One pass. Work n + 256 per list, depth the longest list / 256 + 8.
// Needs  Any GPU.
// Limit  A whole block is launched for three elements. A single long list leaves all multiprocessors except one idle.
// From   Earlier versions of cub::DeviceSegmentedReduce, for lists of any length.
#include "problems/lists/segmented_reduce/cuda_lists.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::impl::segmented_reduce {

namespace {

#if UPSWEEP_HAS_CUDA
constexpr int kThreads = gpu::tuning::kTeachingOrder.list_threads;
// Beyond this number of lists, blocks loop over several lists: a grid has at most 2^31 - 1 blocks.
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

template <class R>
__global__ void __launch_bounds__(kThreads)
    reduce_by_blocks(GivenLists lists, Content<typename R::In> content, R reducer) {
  __shared__ typename R::Value memory[kThreads / 32];
  // [guide: block]
  for (std::int64_t i = blockIdx.x; i < lists.count; i += gridDim.x) {
    const Extent list = lists.list(i);
    const auto mine = fold_strided<4>(reducer, content, list.start, threadIdx.x, list.length, kThreads);
    const auto total = fold_block(reducer, mine, memory);
    if (threadIdx.x == 0) write_result(reducer, i, total, [&] { return list.length == 0; });
  }
  // [guide: end]
}

Status launch(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  return with_taught(call, [&]<class R>(const R& reducer) {
    const auto blocks = static_cast<unsigned>(call.lists.count < kMostBlocks ? call.lists.count : kMostBlocks);
    return gpu::detail::launch({.blocks = blocks, .threads = kThreads, .stream = call.launch->stream},
                               reduce_by_blocks<R>, lists_of(call), content_of<typename R::In>(call), reducer);
  });
}
#endif

}  // namespace

extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "a block folds each list",
                                               .needs = "any GPU",
                                               .traffic = kOnePass,
                                               .cost = "n + 256 per list, the longest list / 256",
                                               .limit = "idle threads"},
                                      .refusal = taught_refusal,
                                      .run = launch};

}  // namespace upsweep::impl::segmented_reduce
