// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_agglomerated.cu: fewer threads, each of which computes several rows of the column, a stride
// apart.
//
// Idea   cuda.column with call.per_thread times fewer threads. Rows are assigned round robin. So in every round
//        adjacent threads still access adjacent bytes, and a warp's accesses are one transaction.
// Cost   As cuda.column, with a per_thread-th of the threads to start.
// Needs  Any GPU; n(S + 1) bytes of scratch.
// Limit  A byte for each bit of information, and 32 bytes per warp and access. cuda.bits keeps 64 sums in a word.
// From   subsetKernelAgglom of "Notes on GPU Programming with Julia" (E. Aubanel 2021): 2.926 ms on a V100, 16 rows
//        each.
#include "problems/subset_sum/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/subset_sum/cuda_table.cuh"

namespace upsweep::impl::subset_sum {
namespace {

// [guide: kernel]
__global__ void fill_column_in_rounds(std::uint8_t* column, const std::uint8_t* before, std::int64_t rows,
                                      std::int64_t item) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kTableBlock;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kTableBlock + threadIdx.x; i < rows; i += stride) {
    std::uint8_t reached = before[i];
    if (i >= item) reached |= before[i - item];
    column[i] = reached;
  }
}
// [guide: end]

Status launch(detail::SubsetSumCall& call, const Policy&) noexcept {
  const std::int64_t rows = rows_of(call);
  const std::int64_t per_thread = std::max(call.per_thread, 1);
  // The source rounds down: it starts no thread at all if there are fewer rows than per_thread.
  const unsigned blocks = table_blocks((rows + per_thread - 1) / per_thread);
  return fill_table(call, [&](std::uint8_t* column, const std::uint8_t* before, std::int64_t item) {
    return gpu::detail::launch({.blocks = blocks, .threads = kTableBlock, .stream = call.launch->stream},
                               fill_column_in_rounds, column, before, rows, item);
  });
}

}  // namespace
}  // namespace upsweep::impl::subset_sum
#endif

namespace upsweep::impl::subset_sum {

extern const Rung cuda_agglomerated{.info = {.id = "cuda.agglomerated",
                                             .idea = "several sums per thread, round-robin",
                                             .needs = "any GPU",
                                             .traffic = kByteTraffic,
                                             .cost = "n·S, n·per_thread",
                                             .limit = "a byte per bit of information"},
                                    .run = launch,
                                    .workspace = workspace};

}  // namespace upsweep::impl::subset_sum
