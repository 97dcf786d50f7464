// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_pipeline.cuh: a reduction of every list in one pass over memory on Hopper: shares, bulk copies, roles.
//
// shares     The work, the bytes of each element and of each list's bound and result, is divided into shares of equal work, which
//            blocks take by ticket. Where a share begins depends on the offsets alone (pipeline_shares.cuh).
// search     A warp finds the two borders of its block's next share in the offsets, 16 probes each at a time (pipeline_search.cuh).
// loader     A warp divides the share into tiles: whole groups of lists that fit a stage of shared memory, or some elements of a
//            long list. It starts the bulk copies of their offsets and content (pipeline_loader.cuh).
// consumers  A lane folds a list where lists are short, 2 to 32 lanes where a tile has few (pipeline_consumers.cuh). A warp folds a
//            list that is much longer than its neighbours (pipeline_lane_folds.cuh). All consumers fold a list that is longer
//            than a tile (pipeline_long_lists.cuh).
// publisher  A warp publishes the partial folds of lists that lie in several shares; the last to come adds them up in order
//            (pipeline_publisher.cuh). Nobody waits for another block.
//
// All roles know the call, the block's shared memory and their own number: PipelineWarp (pipeline_block.cuh). They pass each other
// shares, tiles and partial folds through PipelineHead, whose barriers say what is there and what is free.
//
// Bad offsets. Every list's bounds are compared where its result is computed: a bad list is reported, and not read. The
// search and the loader take every offset as one between the first and the last, which are looked at before anything else.
// Where offsets descend so that a share cannot be divided, its lists are only checked. As the borders of shares lead from list 0
// to the last in steps, every list is in some share, whatever the offsets are.
//
// compute-sanitizer's racecheck does not follow __syncwarp with one lane's release for the warp (see tile_pipeline.cuh). All that
// it reports here are writes of a stage and its tile by TileLoader, copy_ends() and their bulk copies, against the
// consumers' reads. `full` orders these after the writes, `empty` the next writes after them.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_consumers.cuh"
#include "problems/lists/segmented_reduce/pipeline_loader.cuh"
#include "problems/lists/segmented_reduce/pipeline_publisher.cuh"
#include "problems/lists/segmented_reduce/pipeline_search.cuh"

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

// -------------------------------------------------------------------------------------------------------------- the block

/// By all threads of a block, before any role begins.
__device__ __forceinline__ void begin_block(PipelineHead& head) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      head.full[s].init(1);
      head.empty[s].init(kConsumers);
    }
    for (int s = 0; s < 2; ++s) {
      head.found[s].init(1);
      head.taken[s].init(1);
      head.sent[s].init(1);
      head.received[s].init(1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    gpu::detail::fence_before_bulk();  // the barriers before the bulk copies that arrive at them
  }
  __syncthreads();
}

/// The last block to end says how the call ended, and clears what the next call counts in.
__device__ __forceinline__ void end_block(const ListsCall& call) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  Control& control = *call.control;
  __threadfence();  // this block's reports before the count
  if (atomicAdd(&control.done, 1U) != gridDim.x - 1) return;
  __threadfence();  // the count before the other blocks' reports
  const unsigned long long bad = atomicExch(&control.bad, 0ULL);
  control.ticket = 0;
  control.done = 0;
  gpu::ListsStatus status{kNoIndex, Code::ok};
  if (bad != 0) {
    status.first_bad = static_cast<std::int64_t>(~bad);
    (void)call.lists.extent(status.first_bad, status.code);
    // Partials of lists that were not folded to the end.
    for (std::int64_t s = 0; s < call.shares; ++s) call.partials.missing[s] = 0;
  }
  *call.lists.status = status;
}

/// By all threads of a block: every warp takes its role. The other roles are made from the consumer, which is there from the
/// beginning: with an object of its own nvcc 13.0 spills up to 8 bytes more.
template <class R>
__device__ __forceinline__ void run_pipeline(const ListsCall& call, const typename R::In* content, const R& reducer,
                                             char* shared) {
  constexpr std::uint32_t kBytes = sizeof(typename R::In);
  Consumer<R> consumer(PipelineWarp(call, shared), reducer);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (ShareMap(call.lists, kBytes, call.result_bytes).are_bad()) {
    check_lists(call, std::int64_t{blockIdx.x} * kPipelineThreads + threadIdx.x, call.lists.count,
                std::int64_t{gridDim.x} * kPipelineThreads);
  } else {
    begin_block(*reinterpret_cast<PipelineHead*>(shared));
    if (warp < kConsumers) {
      call.lists.kind == BoundKind::int64 ? consumer.template run<std::uint64_t>()
                                          : consumer.template run<std::uint32_t>();
    } else if (warp == kSearch) {
      ShareSearch<kBytes>(consumer).run();
    } else if (warp == kLoader) {
      TileLoader<R>(consumer, content).run();
    } else {
      Publisher<R>(consumer, reducer).run();
    }
  }
  end_block(call);
}

// -------------------------------------------------------------------------------------------------------------- the calls

/// What it is compiled for.
template <class R>
inline constexpr bool kIsPiped = false;
template <class T>
inline constexpr bool kIsPiped<Folded<T, Add>> = true;
template <class T>
inline constexpr bool kIsPiped<Folded<T, Mul>> = true;
template <class T>
inline constexpr bool kIsPiped<Flipped<T, Max>> = true;
template <class T>
inline constexpr bool kIsPiped<Widened<T>> = true;
template <class T>
inline constexpr bool kIsPiped<Pick<T>> = true;
template <class T>
inline constexpr bool kIsPiped<Count<T>> = true;

/// With the widest bounds and results, so that one workspace serves all reductions of the same content.
inline std::int64_t most_work(const detail::SegmentedReduceCall& call) {
  return call.n * call.in_size + call.lists.count * 16;
}
inline std::int64_t most_pipeline_shares(const detail::SegmentedReduceCall& call) {
  return most_shares(most_work(call));
}
/// A block per share, at most.
inline std::int64_t needed_blocks(const detail::SegmentedReduceCall& call) {
  return (most_work(call) >> kLeastShareBits) + 1;
}
/// Kept: what blocks count in. Scratch: the partials.
inline gpu::WorkspaceSize memory_for(std::int64_t shares) {
  return {.kept = std::int64_t{sizeof(Control)} + shares * 4,
          .scratch = shares * (16 + 16 + 16),
          .kept_as = gpu::Kept::list_counts};
}
inline Control* control_at(void* kept) { return static_cast<Control*>(kept); }
inline Partials partials_at(void* kept, void* scratch, std::int64_t shares) {
  char* const values = static_cast<char*>(scratch);
  Partials partials{};
  partials.missing = reinterpret_cast<int*>(control_at(kept) + 1);
  partials.goes_on = values;
  partials.ends = values + shares * 16;
  partials.end = reinterpret_cast<std::int64_t*>(values + shares * 32);
  return partials;
}

/// Compiled once per type that elements are kept as, in pipeline_kernels.cu.
template <class T>
Status pipeline_on(const detail::SegmentedReduceCall& call) noexcept;

}  // namespace upsweep::impl::segmented_reduce
#endif
