// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_pipeline.cuh: reduces every list in one pass over memory on Hopper, with shares,
// bulk copies and roles.
//
// Shares     The work is the bytes of each element and of each list's bound and result. It is divided into shares of
//            equal work, which blocks take by ticket. The begin of a share depends only on the offsets
//            (pipeline_shares.cuh).
// Search     A warp finds the two borders of its block's next share in the offsets, 16 probes for each at a time
//            (pipeline_search.cuh).
// Loader     A warp divides the share into tiles: whole groups of lists that fit a stage of shared memory, or some
//            elements of a long list. It starts the bulk copies of the offsets and content of each tile
//            (pipeline_loader.cuh).
// Consumers  One lane folds a short list; 2 to 32 lanes fold a list if a tile has few (pipeline_consumers.cuh). A warp
//            folds a list that is much longer than the lists next to it (pipeline_lane_folds.cuh). All consumers fold a
//            list that is longer than a tile (pipeline_long_lists.cuh).
// Publisher  A warp publishes the partial folds of lists that extend over several shares. The publisher that completes
//            a list adds its partial folds in order (pipeline_publisher.cuh). No block waits for another block.
//
// All roles derive from PipelineWarp (pipeline_block.cuh): the call, the block's shared memory and the warp's number.
// The roles pass shares, tiles and partial folds to each other through PipelineHead, whose barriers tell which slots
// are full and free.
//
// Bad offsets. Every list's bounds are compared when its result is computed: a bad list is reported, and not read. The
// search and the loader clamp every offset between the first and the last offset, which are checked before anything
// else. If descending offsets make it impossible to divide a share, its lists are only checked. The borders of shares
// lead from list 0 to the last list in steps. Therefore every list is in some share, whatever the offsets are.
//
// The racecheck tool of compute-sanitizer does not follow __syncwarp with one lane's release for the warp (see
// tile_pipeline.cuh). All its reports here concern one pattern: TileLoader, copy_ends() and their bulk copies write a
// stage and its tile, and the consumers read them. `full` orders these reads after the writes, and `empty` orders the
// next writes after the reads.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_consumers.cuh"
#include "problems/lists/segmented_reduce/pipeline_loader.cuh"
#include "problems/lists/segmented_reduce/pipeline_publisher.cuh"
#include "problems/lists/segmented_reduce/pipeline_search.cuh"

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

// ----------------------------------------------------------------------------------------------------------- the block

/// Initializes the block's barriers. All threads of a block call this before any role begins.
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
    gpu::detail::fence_before_bulk();  // the barriers must be visible before bulk copies arrive at them
  }
  __syncthreads();
}

/// The last block to finish writes the status of the call and clears the counters for the next call.
__device__ __forceinline__ void end_block(const ListsCall& call) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  Control& control = *call.control;
  __threadfence();  // orders this block's reports before the count
  if (atomicAdd(&control.done, 1U) != gridDim.x - 1) return;
  __threadfence();  // orders the count before the other blocks' reports
  const unsigned long long bad = atomicExch(&control.bad, 0ULL);
  control.ticket = 0;
  control.done = 0;
  gpu::ListsStatus status{kNoIndex, Code::ok};
  if (bad != 0) {
    status.first_bad = static_cast<std::int64_t>(~bad);
    (void)call.lists.extent(status.first_bad, status.code);
    // Clears the partial folds of lists that were not completed.
    for (std::int64_t s = 0; s < call.shares; ++s) call.partials.missing[s] = 0;
  }
  *call.lists.status = status;
}

/// Runs every warp's role; all threads of a block call this. The other roles are made from the consumer, which exists
/// from the beginning: with a separate object, nvcc 13.0 spills up to 8 more bytes.
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

// ----------------------------------------------------------------------------------------------------------- the calls

/// Whether the pipeline is compiled for a reducer.
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

/// Returns the work with the widest bounds and results, so that one workspace serves all reductions of the same
/// content.
inline std::int64_t most_work(const detail::SegmentedReduceCall& call) {
  return call.n * call.in_size + call.lists.count * 16;
}
inline std::int64_t most_pipeline_shares(const detail::SegmentedReduceCall& call) {
  return most_shares(most_work(call));
}
/// Returns the maximum number of blocks: one per share.
inline std::int64_t needed_blocks(const detail::SegmentedReduceCall& call) {
  return (most_work(call) >> kLeastShareBits) + 1;
}
/// Returns the workspace: the blocks' counters are kept between calls, the partial folds are scratch.
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

/// Compiled once per stored element type, in pipeline_kernels.cu.
template <class T>
Status pipeline_on(const detail::SegmentedReduceCall& call) noexcept;

}  // namespace upsweep::impl::segmented_reduce
#endif
