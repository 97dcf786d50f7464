// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_array_ops.cu: only whole-array operations: copies a column, then ORs a shifted view into the
// copy.
//
// Idea   No kernel is written for the problem. There is a table of bytes, and views of its columns. For each column,
//        two operations of an array library: F[:,j] .= F[:,j-1] and F[s:,j] .= F[s:,j] .| F[:end-s,j-1]. Each is a
//        launch.
// Cost   Per item 5 bytes per sum, of which 2 are copied; 2n launches; the whole table is cleared first.
// Needs  Any GPU; n(S + 1) bytes of scratch.
// Limit  A column is written twice and read in between. cuda.column does both operations in one kernel.
// From   subsetSumCuArrays of "Notes on GPU Programming with Julia" (E. Aubanel 2021): 4.413 ms on a V100.
#include "problems/subset_sum/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/subset_sum/cuda_table.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::impl::subset_sum {
namespace {

// Block size that an array library uses for any elementwise expression.
constexpr int kBlock = gpu::tuning::kTeaching.threads;

template <class Element>
__global__ void elementwise(std::int64_t count, const Element element) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i < count) element(i);
}

/// Launches an elementwise kernel, unless there is an error already.
template <class Element>
void launch_elementwise(cudaError_t& error, gpu::Stream stream, std::int64_t count, Element element) {
  if (error != cudaSuccess || count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kBlock - 1) / kBlock);
  error = gpu::detail::launch({.blocks = blocks, .threads = kBlock, .stream = stream}, elementwise<Element>, count,
                              element);
}

Status launch(detail::SubsetSumCall& call, const Policy&) noexcept {
  const gpu::Stream stream = call.launch->stream;
  const std::int64_t rows = rows_of(call);
  const std::int64_t columns = std::max<std::int64_t>(call.n, 1);
  auto* const table = static_cast<std::uint8_t*>(call.launch->scratch);
  cudaError_t error = cudaMemsetAsync(table, 0, static_cast<std::size_t>(columns * rows), stream);
  launch_elementwise(error, stream, columns, [=] __device__(std::int64_t j) { table[j * rows] = 1; });
  if (call.n > 0 && call.items[0] <= call.target) {
    std::uint8_t* const first = table + call.items[0];
    launch_elementwise(error, stream, 1, [=] __device__(std::int64_t) { *first = 1; });
  }
  // [guide: operations]
  for (std::int64_t j = 1; j < call.n && error == cudaSuccess; ++j) {
    const std::uint8_t* const before = table + (j - 1) * rows;
    std::uint8_t* const column = table + j * rows;
    launch_elementwise(error, stream, rows - 1, [=] __device__(std::int64_t i) { column[i + 1] = before[i + 1]; });
    const std::int64_t item = call.items[j];
    if (item > call.target) continue;
    launch_elementwise(error, stream, rows - item,
                       [=] __device__(std::int64_t i) { column[item + i] = column[item + i] | before[i]; });
  }
  // [guide: end]
  if (error != cudaSuccess) return gpu::status_of(error);
  return gpu::status_of(launch_pack(call, table + (columns - 1) * rows));
}

}  // namespace
}  // namespace upsweep::impl::subset_sum
#endif

namespace upsweep::impl::subset_sum {

extern const Rung cuda_array_ops{.info = {.id = "cuda.array_ops",
                                          .idea = "a copy and an OR of whole columns per item",
                                          .needs = "any GPU",
                                          .traffic = "5 bytes per sum and item",
                                          .cost = "n·S, n",
                                          .limit = "two passes per column"},
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::impl::subset_sum
