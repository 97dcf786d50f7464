// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_per_list.cu: a thread, a warp or a block copies a list to where its offset says.
#include "problems/lists/pack/cuda_layout.cuh"
#include "upsweep/detail/tuning/pack.hpp"

#if UPSWEEP_HAS_CUDA
#include <algorithm>
#endif

namespace upsweep::impl::pack {

#if UPSWEEP_HAS_CUDA
constexpr int kListThreads = gpu::tuning::kConversions.list_threads;

/// kSize threads copy a list.
template <int kSize, class E>
__global__ void __launch_bounds__(kListThreads) copy_lists(gpu::MovedLists lists, const std::int64_t* offsets,
                                                           const gpu::Outcome* outcome, const E* content, E* out) {
  if (outcome->moved == 0) return;
  const std::int64_t groups = std::int64_t{gridDim.x} * (kListThreads / kSize);
  const std::int64_t origin = offsets[0];
  for (std::int64_t i = (std::int64_t{blockIdx.x} * kListThreads + threadIdx.x) / kSize; i < lists.count; i += groups) {
    const gpu::Extent list = lists.at(i);
    const std::int64_t to = offsets[i] - origin;
    for (std::int64_t j = threadIdx.x % kSize; j < list.length; j += kSize) out[to + j] = content[list.start + j];
  }
}

/// A rung's functions.
template <int kSize>
Status launch_by(detail::PackCall& call, const Policy&) noexcept {
  const LayoutScratch scratch(call, call.launch->scratch);
  cudaError_t error = launch_layout(call, scratch);
  if (error != cudaSuccess || !moves(call)) return gpu::status_of(error);
  const std::int64_t blocks = std::min(gpu::divided_up(call.lists.count, kListThreads / kSize), gpu::kMostBlocks);
  const gpu::detail::Grid grid{
      .blocks = static_cast<unsigned>(blocks), .threads = kListThreads, .stream = call.launch->stream};
  for (const PackColumn& column : call.columns) {
    error = gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
      return gpu::detail::launch(grid, copy_lists<kSize, E>, device_lists(call), call.offsets, scratch.outcome,
                                 static_cast<const E*>(column.data), static_cast<E*>(column.out));
    });
    if (error != cudaSuccess) break;
  }
  return gpu::status_of(error);
}

gpu::WorkspaceSize workspace(const detail::PackCall& call) noexcept {
  return {.scratch = LayoutScratch(call, nullptr).parts.bytes()};
}
#endif

// cuda.thread_per_list: a thread copies a list.
//
// Idea   The reference loop's lists as threads, after a scan of their lengths.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Neighbouring threads read and write apart from each other; one long list is one thread's.
// From   How Awkward Array's CUDA kernels are written, a thread per list.
extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "scan of lengths; a thread per list",
                                                .needs = "any GPU",
                                                .traffic = "n read, n written",
                                                .cost = "lists + elements, the longest list",
                                                .limit = "accesses apart from each other; one long list"},
                                       .run = launch_by<1>,
                                       .workspace = workspace};

// cuda.warp_per_list: a warp copies a list.
//
// Idea   Lanes copy a list side by side, after a scan of the lengths.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Of lists with three elements 29 lanes have nothing to do; one long list is one warp's.
// From   Vector kernels of sparse matrices (Bell and Garland 2009).
extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "scan of lengths; a warp per list",
                                              .needs = "any GPU",
                                              .traffic = "n read, n written",
                                              .cost = "elements + 32 per list, the longest list / 32",
                                              .limit = "idle threads of short lists; one long list"},
                                     .run = launch_by<32>,
                                     .workspace = workspace};

// cuda.block_per_list: a block copies a list.
//
// Idea   As cuda.warp_per_list, with 256 threads.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Short lists leave most threads with nothing to do; one list of everything is one block's.
// From   As cuda.warp_per_list.
extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "scan of lengths; a block per list",
                                               .needs = "any GPU",
                                               .traffic = "n read, n written",
                                               .cost = "elements + 256 per list, the longest list / 256",
                                               .limit = "idle threads of short lists; one long list"},
                                      .run = launch_by<256>,
                                      .workspace = workspace};

}  // namespace upsweep::impl::pack
