// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_lanes.cu: as many lanes for a list as it has elements for, from one lane to every block.
//
// Idea   A warp takes 32 lists. Each lane folds its own where that has up to 8 elements; those of up to 64 are folded by
//        eight lanes, four lists at a time; those of up to 2,048 by the warp, one after the other. What is longer is left
//        in a list of tiles of 16,384 elements, which a second kernel's blocks take; the last of a list's tiles to be
//        folded folds them all, in their order. Operators that do not commute (segmented_reduce.cuh) fold rows of four elements a
//        lane, in order; the others columns.
// Cost   One pass, by lines of the cache as far as short lists share them. Work n, depth n/(256·2112) and the folds.
// Needs  Any GPU. 24 bytes of scratch per list that is long; where lists may overlap, for every list.
// Limit  Lanes wait for the longest of their warp's lists, and for memory: nothing is loaded ahead. cuda.pipeline does.
// From   Own; the classes of lengths as in S. Baxter's moderngpu and in cub::DeviceBatchMemcpy.
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
                                      .idea = "lanes for a list as it has elements, long ones in tiles",
                                      .needs = "any GPU",
                                      .traffic = kOnePass,
                                      .cost = "n, n/p",
                                      .limit = "nothing is loaded ahead",
                                      .float_bound = kDeviceBound},
                             .refusal = lanes_refusal,
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::segmented_reduce
