// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_pipeline.cu: lists in one pass at memory bandwidth: equal shares, bulk copies,
// one warp per role.
//
// Idea   Blocks process equal shares of the bytes to read and write, whatever the lists' lengths. In a block, one warp
//        searches the lists of the next share. Another warp starts bulk copies of their offsets and elements into
//        shared memory. Eleven warps fold the lists: one list per lane, per warp, or by all eleven warps. One warp
//        combines, in order, the folds of lists that extend over several shares. See
//        problems/lists/segmented_reduce/cuda_pipeline.cuh.
// Cost   One pass. Work n, depth n/(352·264) and log2 of the lists.
// Needs  Compute capability 9.0; lists between offsets, without nulls. 52 bytes of workspace per share.
// Limit  For sums of lists of equal length, memory bandwidth. If lengths differ widely, the longest list of a warp or a
//        tile. For lists of a few elements, the instructions that each list needs in addition to its additions.
// From   Own; shares as in D. Merrill, M. Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016.
#include "cuda/device_call.hpp"
#include "problems/lists/segmented_reduce/cuda_pipeline.cuh"

namespace upsweep::impl::segmented_reduce {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  if (call.lists.count == 0) return with_status(call, [] { return cudaSuccess; });
  return visit_kept(call, [&]<class T>(std::type_identity<T>) { return pipeline_on<T>(call); });
}

gpu::WorkspaceSize workspace(const detail::SegmentedReduceCall& call) noexcept {
  return memory_for(most_pipeline_shares(call));
}
#endif

const char* pipeline_refusal(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept {
  if (const char* reason = device_refusal(call, policy)) return reason;
  if (call.checked) return kWraps;
  if (call.count_at != nullptr) return "needs the number of lists in host memory";
  if (call.reducer == Reducer::count) return "does not count: lengths follow from the offsets, without the content";
  if (call.reducer == Reducer::fold && !is_piped(call.op)) return "is not compiled for this operator";
  if (call.lists.has_size || !call.lists.are_adjacent()) return "supports only lists between offsets";
  if (call.valid.is_given() || call.lists.valid.is_given()) return "does not support nulls";
  return gpu::lookahead_refusal(call.launch->device);
}

}  // namespace

extern const Rung cuda_pipeline{.info = {.id = "cuda.pipeline",
                                         .idea = "shares of equal bytes, copied in bulk, a warp per role",
                                         .needs = "compute capability 9.0; offsets, no nulls",
                                         .traffic = kOnePass,
                                         .cost = "n, n/p",
                                         .limit = "memory bandwidth",
                                         .float_bound = kDeviceBound},
                                .refusal = pipeline_refusal,
                                .run = launch,
                                .workspace = workspace};

}  // namespace upsweep::impl::segmented_reduce
