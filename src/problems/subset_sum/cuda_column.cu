// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_column.cu: a kernel per column of the table, with a thread per row.
//
// Idea   Thread i writes row i of the column: the same row of the previous column, ORed with the row `item` below it.
//        Columns depend on each other. A launch begins when the previous one has ended: this is the barrier.
// Cost   Per item 3 bytes per sum: two reads, one of which caches serve if the item is small, and a write. n launches.
// Needs  Any GPU; n(S + 1) bytes of scratch.
// Limit  The start of a thread and its index arithmetic for a single byte. cuda.agglomerated assigns several bytes to
//        it.
// From   subsetKernel of "Notes on GPU Programming with Julia" (E. Aubanel 2021): 3.727 ms on a V100.
#include "problems/subset_sum/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/subset_sum/cuda_table.cuh"

namespace upsweep::impl::subset_sum {
namespace {

// [guide: kernel]
__global__ void fill_column(std::uint8_t* column, const std::uint8_t* before, std::int64_t rows, std::int64_t item) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kTableBlock + threadIdx.x;
  if (i >= rows) return;
  // The source stores the previous row and then reads it back; with an item above the target it never does the second
  // read.
  std::uint8_t reached = before[i];
  if (i >= item) reached |= before[i - item];
  column[i] = reached;
}
// [guide: end]

Status launch(detail::SubsetSumCall& call, const Policy&) noexcept {
  const std::int64_t rows = rows_of(call);
  return fill_table(call, [&](std::uint8_t* column, const std::uint8_t* before, std::int64_t item) {
    return gpu::detail::launch({.blocks = table_blocks(rows), .threads = kTableBlock, .stream = call.launch->stream},
                               fill_column, column, before, rows, item);
  });
}

}  // namespace
}  // namespace upsweep::impl::subset_sum
#endif

namespace upsweep::impl::subset_sum {

extern const Rung cuda_column{.info = {.id = "cuda.column",
                                       .idea = "a kernel per column, a sum per thread",
                                       .needs = "any GPU",
                                       .traffic = kByteTraffic,
                                       .cost = "n·S, n",
                                       .limit = "a byte per bit of information"},
                              .run = launch,
                              .workspace = workspace};

}  // namespace upsweep::impl::subset_sum
