// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_per_list.cu: a thread, a warp or a block copies a list to its offset.
#include "problems/lists/pack/cuda_layout.cuh"
#include "upsweep/detail/tuning/pack.hpp"

#if UPSWEEP_HAS_CUDA
#include <algorithm>
#endif

namespace upsweep::impl::pack {

#if UPSWEEP_HAS_CUDA
constexpr int kListThreads = gpu::tuning::kConversions.list_threads;

/// Copies each list with kSize threads.
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

/// The functions of a rung.
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
// Idea   One thread per list of the reference loop, after a scan of the lengths.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Adjacent threads read and write addresses that are far apart. Only one thread copies a long list.
// From   The style of Awkward Array's CUDA kernels: one thread per list.
extern const Rung cuda_thread_per_list{.info = {.id = "cuda.thread_per_list",
                                                .idea = "scan of lengths; a thread per list",
                                                .needs = "any GPU",
                                                .traffic = "n read, n written",
                                                .cost = "lists + elements, the longest list",
                                                .limit = "scattered accesses; one long list"},
                                       .run = launch_by<1>,
                                       .workspace = workspace};

// cuda.warp_per_list: a warp copies a list.
//
// Idea   The lanes of a warp copy adjacent elements of a list, after a scan of the lengths.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  With three elements per list, 29 lanes are idle. Only one warp copies a long list.
// From   Vector kernels of sparse matrices (Bell and Garland 2009).
extern const Rung cuda_warp_per_list{.info = {.id = "cuda.warp_per_list",
                                              .idea = "scan of lengths; a warp per list",
                                              .needs = "any GPU",
                                              .traffic = "n read, n written",
                                              .cost = "elements + 32 per list, the longest list / 32",
                                              .limit = "idle threads with short lists; one long list"},
                                     .run = launch_by<32>,
                                     .workspace = workspace};

// cuda.block_per_list: a block copies a list.
//
// Idea   As cuda.warp_per_list, with 256 threads.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths; elements read and written once.
// Needs  Any GPU.
// Limit  Short lists leave most threads idle. Only one block copies a single long list.
// From   As cuda.warp_per_list.
extern const Rung cuda_block_per_list{.info = {.id = "cuda.block_per_list",
                                               .idea = "scan of lengths; a block per list",
                                               .needs = "any GPU",
                                               .traffic = "n read, n written",
                                               .cost = "elements + 256 per list, the longest list / 256",
                                               .limit = "idle threads with short lists; one long list"},
                                      .run = launch_by<256>,
                                      .workspace = workspace};

}  // namespace upsweep::impl::pack
