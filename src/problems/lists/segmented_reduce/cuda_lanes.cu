// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_lanes.cu: the length of a list determines how many lanes fold it, from one lane
// to all blocks.
//
// Idea   A warp takes 32 lists. A lane folds its list if that has up to 8 elements. Eight lanes fold a list of up to 64
//        elements, four lists at a time. The warp folds lists of up to 2,048 elements, one after the other. Longer
//        lists become tiles of 16,384 elements, which the blocks of a second kernel fold. The block that folds the last
//        tile of a list combines the folds of all its tiles in order. Non-commutative operators (segmented_reduce.cuh)
//        fold rows of four elements per lane, in order; other operators fold columns.
// Cost   One pass, by cache lines, which short lists share. Work n, depth n/(256·2112) and the folds.
// Needs  Any GPU. 24 bytes of scratch per long list; if lists may overlap, per list.
// Limit  Lanes wait for the longest of their warp's lists, and for memory: nothing is loaded ahead. cuda.pipeline loads
//        ahead.
// From   Own; the length classes as in S. Baxter's moderngpu and in cub::DeviceBatchMemcpy.
#include "problems/lists/segmented_reduce/cuda_lanes.cuh"

namespace upsweep::impl::segmented_reduce {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  if (call.device != nullptr) return call.device->run(call);
  return visit_kept(call, [&]<class T>(std::type_identity<T>) { return lanes_on<T>(call); });
}

gpu::WorkspaceSize workspace(const detail::SegmentedReduceCall& call) noexcept {
  if (call.device != nullptr) return call.device->workspace(call);
  return {.scratch = list_tiles_bytes(call, kCompiledSlotBytes)};
}
#endif

const char* lanes_refusal(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept {
  return call.device != nullptr ? nullptr : device_refusal(call, policy);
}

}  // namespace

extern const Rung cuda_lanes{.info = {.id = "cuda.lanes",
                                      .idea = "1 to 32 lanes per list by its length, long lists in tiles",
                                      .needs = "any GPU",
                                      .traffic = kOnePass,
                                      .cost = "n, n/p",
                                      .limit = "nothing is loaded ahead",
                                      .float_bound = kDeviceBound},
                             .refusal = lanes_refusal,
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::segmented_reduce
