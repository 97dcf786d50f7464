// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_lookahead.cu: differences, validation and scan in one pass at the speed of a copy.
//
// Idea   Scan's cuda.lookahead, over two input arrays. A list is checked when its length is computed. A bad list makes
//        every later offset negative, so the pass itself reports nothing. A last kernel of one thread reads the last
//        offset. If it is negative, the kernel searches for the first negative one.
// Cost   One pass: 24 bytes per list of int64, 16 of int32. Work 4n, depth n/(32·multiprocessors) and the folds.
// Needs  Compute capability 9.0. 16 bytes of workspace per 1920 or 3072 lists, zero before the first call.
// Limit  Memory bandwidth. If stops are the starts shifted by one, cuda.adjacent reads them once.
// From   Scan's cuda.lookahead; own: difference and scan in one pass.
#include "cuda/device_call.hpp"
#include "problems/lists/offsets/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/device_scan.cuh"
#include "upsweep/detail/tuning/lists.hpp"
#endif

namespace upsweep::impl::offsets {

namespace {

#if UPSWEEP_HAS_CUDA
template <class Bound>
struct OffsetsProblem {
  using In = Bound;
  using T = std::int64_t;
  using Op = Extend;
  static constexpr int kInputs = 2;
  // Tiles of 1920 or 3072 lists; 30 or 25 KB of shared memory.
  static constexpr gpu::tuning::OffsetsTuning kTuning =
      sizeof(In) == 8 ? gpu::tuning::kWideOffsets : gpu::tuning::kOffsets;
  static constexpr int kWarps = kTuning.warps;
  static constexpr int kUnits = gpu::detail::lane_units(sizeof(In), sizeof(T));
  static constexpr int kLoadsInFlight = kTuning.loads_in_flight;
  static constexpr int kStoresInFlight = kTuning.stores_in_flight;
  static constexpr bool kEndsWithTotal = true;
  static constexpr bool kFillsTail = false;
  static constexpr bool kCommutes = true;
  static constexpr bool kHasHeads = false;
  static constexpr gpu::detail::ShardPhase kShardPhase = gpu::detail::ShardPhase::whole;
  Op op;
  bool strict;

  __device__ __forceinline__ std::int64_t item(Bound start, Bound stop) const {
    return List<Bound>{start, stop}.length_or_bad(strict);
  }
};

Status launch(detail::OffsetsCall& call, const Policy&) noexcept {
  return with_lengths(call, [&]<class T>(const Lengths<T>& lengths, std::int64_t*) {
    const gpu::Launch& launch = *call.launch;
    const gpu::detail::DeviceScan<OffsetsProblem<T>> scan{.in = {lengths.starts, lengths.stops},
                                                          .out = call.offsets,
                                                          .n = call.n,
                                                          .workspace = gpu::detail::workspace_of(launch),
                                                          .init = lengths.before_all,
                                                          .init_at = lengths.before_at,
                                                          .n_at = lengths.n_at,
                                                          .has_init = true,
                                                          .exclusive = true,
                                                          .problem = {{}, call.strict}};
    return gpu::status_of(gpu::detail::launch_scan(scan, launch.device, launch.multiprocessors, launch.stream));
  });
}

gpu::WorkspaceSize workspace(const detail::OffsetsCall& call) noexcept {
  return visit_list_bound(call.type, [&]<class T>(std::type_identity<T>) -> gpu::WorkspaceSize {
    return {.kept = gpu::detail::workspace_bytes<OffsetsProblem<T>>(call.n)};
  });
}
#endif

const char* lookahead_refusal(const detail::OffsetsCall& call, const Policy&) noexcept {
  return gpu::lookahead_refusal(call.launch->device);
}

}  // namespace

extern const Rung cuda_lookahead{.info = {.id = "cuda.lookahead",
                                          .idea = "one pass: difference, checks and scan",
                                          .needs = "compute capability 9.0",
                                          .traffic = "2n read, n written",
                                          .cost = "4n, n/(32·multiprocessors)",
                                          .limit = "memory bandwidth"},
                                 .refusal = lookahead_refusal,
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::impl::offsets
