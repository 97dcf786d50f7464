// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_table.cuh: what the rungs of the table share: bytes, a column per item; its start and its end.
//
// The F of "Notes on GPU Programming with Julia" (E. Aubanel 2021) has S + 1 rows, from 1 on, and a column per item,
// stored column by column; rows are from 0 on here. What is wrong in the source, and right here:
//   first item    marked at row s[1] + 1 only where that row exists: the source's `s[1] S &&` has lost its comparison
//   zeros         the source clears all n columns and sets row 1 of each, although its loop writes every row from the
//                 second on; here a column's kernel writes its row 0 too, and only the first column is prepared
//   the answer    one element of the last column; here the whole column, a bit per row, so that any sum can be read
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::subset_sum {

/// The source's: as many threads as a block can have.
inline constexpr int kTableBlock = 1024;

constexpr unsigned table_blocks(std::int64_t threads) {
  return static_cast<unsigned>((threads + kTableBlock - 1) / kTableBlock);
}

/// Rows of the table.
constexpr std::int64_t rows_of(const detail::SubsetSumCall& call) { return call.target + 1; }
/// No items have a column too: that of the empty subset.
inline gpu::WorkspaceSize workspace(const detail::SubsetSumCall& call) noexcept {
  return {.scratch = std::max<std::int64_t>(call.n, 1) * rows_of(call)};
}

/// Column of the first item alone; of no item where it is 0.
template <int kThreads>
__global__ void start_column(std::uint8_t* column, std::int64_t rows, std::int64_t item) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < rows) column[i] = i == 0 || i == item ? 1 : 0;
}

/// Bits of a column, 32 rows to a warp: lanes read neighbouring bytes, and their vote is the word.
template <int kThreads>
__global__ void pack_column(const std::uint8_t* column, std::int64_t rows, std::uint32_t* halves, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const unsigned bits = __ballot_sync(~0U, i < rows && column[i] != 0);
  if (i % 32 == 0 && i / 32 < count) halves[i / 32] = bits;
}

[[nodiscard]] inline cudaError_t launch_pack(const detail::SubsetSumCall& call, const std::uint8_t* column) {
  const std::int64_t words = detail::words_of(call.target);
  return gpu::detail::launch(
      {.blocks = table_blocks(64 * words), .threads = kTableBlock, .stream = call.launch->stream},
      pack_column<kTableBlock>, column, rows_of(call), reinterpret_cast<std::uint32_t*>(call.sums), 2 * words);
}

/// launch_column(column, before, item), which returns its error, for every item but the first; then the last column
/// becomes the bitmap.
template <class LaunchColumn>
Status fill_table(const detail::SubsetSumCall& call, LaunchColumn launch_column) {
  const std::int64_t rows = rows_of(call);
  auto* column = static_cast<std::uint8_t*>(call.launch->scratch);
  cudaError_t error =
      gpu::detail::launch({.blocks = table_blocks(rows), .threads = kTableBlock, .stream = call.launch->stream},
                          start_column<kTableBlock>, column, rows, call.n > 0 ? call.items[0] : 0);
  if (error != cudaSuccess) return gpu::status_of(error);
  for (std::int64_t j = 1; j < call.n; ++j, column += rows) {
    error = launch_column(column + rows, column, call.items[j]);
    if (error != cudaSuccess) return gpu::status_of(error);
  }
  return gpu::status_of(launch_pack(call, column));
}

}  // namespace upsweep::impl::subset_sum
