// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_per_list.cuh: a thread, a warp or a block copies a list to where its offset says.
#pragma once

#include "problems/lists/pack/cuda_layout.cuh"

#if UPSWEEP_HAS_CUDA
#include <algorithm>

namespace upsweep::impl::pack {

inline constexpr int kListThreads = 256;

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
  const Scratch scratch(call, call.launch->scratch);
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

inline gpu::WorkspaceSize layout_workspace(const detail::PackCall& call) noexcept {
  return {.scratch = Scratch(call, nullptr).parts.bytes()};
}

}  // namespace upsweep::impl::pack
#endif
