// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cuda_per_list.cu: a thread, a warp or a block counts what its list keeps, and later moves it.
#include "problems/dense/select/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <algorithm>

#include "cuda/moved_lists.cuh"
#include "upsweep/detail/tuning/select.hpp"
#endif

namespace upsweep::impl::select {

#if UPSWEEP_HAS_CUDA
constexpr int kListThreads = gpu::tuning::kSelect.list_threads;

/// The number of threads with `has`: those earlier in the group, and all of the group.
struct Before {
  int earlier;
  int all;
};

/// A group of kSize threads that process a list together: 1, a warp, or a block.
template <int kSize>
struct ListGroup {
  int* warps;  ///< in shared memory, one for each warp

  __device__ static std::int64_t first() { return (std::int64_t{blockIdx.x} * kListThreads + threadIdx.x) / kSize; }
  __device__ static std::int64_t count() { return std::int64_t{gridDim.x} * (kListThreads / kSize); }
  __device__ static std::int64_t member() { return threadIdx.x % kSize; }

  /// All threads of the group must call.
  __device__ Before before(bool has) const {
    if constexpr (kSize == 1) {
      return {0, has ? 1 : 0};
    } else {
      const unsigned votes = __ballot_sync(gpu::detail::kAllLanes, has);
      const unsigned lane = threadIdx.x % 32;
      Before result{__popc(votes & ((1U << lane) - 1)), __popc(votes)};
      if constexpr (kSize > 32) {
        const int warp = static_cast<int>(threadIdx.x / 32);
        __syncthreads();
        if (lane == 0) warps[warp] = result.all;
        __syncthreads();
        result.all = 0;
        for (int w = 0; w < kSize / 32; ++w) {
          if (w < warp) result.earlier += warps[w];
          result.all += warps[w];
        }
      }
      return result;
    }
  }
};

/// offsets[i + 1] ← how many elements list i keeps; negative if the list is bad.
template <int kSize>
__global__ void __launch_bounds__(kListThreads)
    count_kept_of_lists(gpu::MovedLists lists, gpu::DeviceMask mask, std::int64_t* offsets) {
  __shared__ int warps[kListThreads / 32];
  const ListGroup<kSize> group{warps};
  for (std::int64_t i = group.first(); i < lists.count; i += group.count()) {
    const gpu::Extent list = lists.at(i);
    std::int64_t kept = 0;
    for (std::int64_t j = 0; j < list.length; j += kSize) {
      const std::int64_t own = j + group.member();
      kept += group.before(own < list.length && mask[list.start + own]).all;
    }
    if (group.member() == 0) offsets[i + 1] = list.length < 0 ? -1 : kept;
  }
}

template <int kSize, class E>
__global__ void __launch_bounds__(kListThreads)
    move_kept_of_lists(gpu::MovedLists lists, gpu::DeviceMask mask, const std::int64_t* offsets,
                       const gpu::Outcome* outcome, const E* content, E* out) {
  __shared__ int warps[kListThreads / 32];
  const ListGroup<kSize> group{warps};
  if (outcome->moved == 0) return;
  for (std::int64_t i = group.first(); i < lists.count; i += group.count()) {
    const gpu::Extent list = lists.at(i);
    std::int64_t to = offsets[i];
    for (std::int64_t j = 0; j < list.length; j += kSize) {
      const std::int64_t own = j + group.member();
      const bool is_kept = own < list.length && mask[list.start + own];
      const Before before = group.before(is_kept);
      if (is_kept) out[to + before.earlier] = content[list.start + own];
      to += before.all;
    }
  }
}

/// Returns the lists that groups of kSize threads process; without lists, tiles of the mask.
template <int kSize>
Lists lists_or_tiles(const detail::SelectCall& call) {
  if (call.has_lists) return call.lists;
  constexpr std::int64_t kMaskTile = kSize == 1 ? 1 : 32 * kSize;
  return Lists::of_size(gpu::divided_up(call.mask.length, kMaskTile), kMaskTile);
}

struct ListScratch {
  ListScratch(const detail::SelectCall& call, const Lists& lists, void* memory) : parts(memory) {
    outcome = parts.take<gpu::Outcome>(1);
    totals = parts.take<std::int64_t>(gpu::chunk_totals(lists.count));
    offsets = call.out_offsets;
    if (offsets == nullptr) offsets = parts.take<std::int64_t>(lists.count + 1);
  }

  gpu::ScratchParts parts;
  gpu::Outcome* outcome;
  std::int64_t* totals;
  std::int64_t* offsets;
};

template <int kSize>
cudaError_t launch_lists(const detail::SelectCall& call) {
  const Lists given = lists_or_tiles<kSize>(call);
  const ListScratch scratch(call, given, call.launch->scratch);
  const gpu::MovedLists lists(given, call.mask.length);
  const gpu::DeviceMask mask(call.mask);
  const gpu::Stream stream = call.launch->stream;
  const auto blocks =
      static_cast<unsigned>(std::min(gpu::divided_up(given.count, kListThreads / kSize), gpu::kMostBlocks));
  const gpu::detail::Grid grid{.blocks = blocks, .threads = kListThreads, .stream = stream};
  cudaError_t error = cudaSuccess;
  if (blocks > 0) error = gpu::detail::launch(grid, count_kept_of_lists<kSize>, lists, mask, scratch.offsets);
  if (error == cudaSuccess) {
    error =
        gpu::launch_offsets(gpu::CountsThere{scratch.offsets}, given.count, scratch.offsets, scratch.totals, stream);
  }
  if (error == cudaSuccess) {
    error = gpu::launch_conclude(lists, scratch.offsets, call.capacity, scratch.outcome, call.status, stream);
  }
  for (const SelectColumn& column : call.columns) {
    if (error != cudaSuccess || blocks == 0) return error;
    error = gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
      return gpu::detail::launch(grid, move_kept_of_lists<kSize, E>, lists, mask, scratch.offsets, scratch.outcome,
                                 static_cast<const E*>(column.data), static_cast<E*>(column.out));
    });
  }
  return error;
}

/// The functions of a rung with groups of kSize threads.
template <int kSize>
Status launch_by(detail::SelectCall& call, const Policy&) noexcept {
  return gpu::status_of(launch_lists<kSize>(call));
}
template <int kSize>
gpu::WorkspaceSize workspace_by(const detail::SelectCall& call) noexcept {
  return {.scratch = ListScratch(call, lists_or_tiles<kSize>(call), nullptr).parts.bytes()};
}
#endif

// cuda.thread_per_list: a thread counts what its list keeps, and moves it once the counts are scanned.
//
// Idea   The reference loop, with one thread per list. Without lists, one thread per element, which it moves to its
//        rank.
// Cost   The mask twice, the content once; 16 bytes per list for offsets and 32 for their scan.
// Needs  Any GPU.
// Limit  Neighboring threads read addresses that are far apart. Only one thread processes a long list.
// From   Awkward Array's CUDA kernels, which use a thread per list.
extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "a thread per list: count, scan, move",
                                                .needs = "any GPU",
                                                .traffic = "mask twice, n read, kept written",
                                                .cost = "2n, the longest list",
                                                .limit = "scattered accesses; one long list"},
                                       .run = launch_by<1>,
                                       .workspace = workspace_by<1>};

// cuda.warp_per_list: a warp counts what its list keeps by votes, and moves it once the counts are scanned.
//
// Idea   Lanes read neighboring elements of a list. A vote tells each lane the place of its element.
// Cost   The mask twice, the content once; 16 bytes per list for offsets and 32 for their scan.
// Needs  Any GPU.
// Limit  With lists of three elements, 29 lanes have nothing to do. Only one warp processes a long list.
// From   Vector kernels of sparse matrices (Bell and Garland 2009).
extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "a warp per list: votes, scan, move",
                                              .needs = "any GPU",
                                              .traffic = "mask twice, n read, kept written",
                                              .cost = "2n + 32 per list, the longest list / 32",
                                              .limit = "idle threads of short lists; one long list"},
                                     .run = launch_by<32>,
                                     .workspace = workspace_by<32>};

// cuda.block_per_list: a block counts what its list keeps, and moves it once the counts are scanned.
//
// Idea   As cuda.warp_per_list, with 256 threads.
// Cost   The mask twice, the content once; 16 bytes per list for offsets and 32 for their scan.
// Needs  Any GPU.
// Limit  Most threads have nothing to do in short lists; two barriers for 256 elements.
// From   As cuda.warp_per_list.
extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "a block per list: votes, scan, move",
                                               .needs = "any GPU",
                                               .traffic = "mask twice, n read, kept written",
                                               .cost = "2n + 256 per list, the longest list / 256",
                                               .limit = "idle threads of short lists; one long list"},
                                      .run = launch_by<256>,
                                      .workspace = workspace_by<256>};

}  // namespace upsweep::impl::select
