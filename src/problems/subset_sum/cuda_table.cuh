// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_table.cuh: what the rungs with the table of bytes share: the first column, and the bitmap.
//
// The F of "Notes on GPU Programming with Julia" (E. Aubanel 2021) has S + 1 rows, numbered from 1, and a column per
// item. The table is stored column by column. In these rungs, rows are numbered from 0, and three errors of the
// source are corrected:
// - First item: it is marked at row s[1] + 1 only if this row exists. In the source's `s[1] S &&` the comparison is
// missing.
// - Zeros: the source clears all n columns and sets row 1 of each, although its loop writes every row from the second
//   on. In these rungs a column's kernel also writes row 0, and only the first column is prepared.
// - The answer: the source reads one element of the last column. In these rungs it is the whole column, a bit per row,
//   so that any sum can be read.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::subset_sum {

/// Block size of the source: the maximum number of threads of a block.
inline constexpr int kTableBlock = 1024;

constexpr unsigned table_blocks(std::int64_t threads) {
  return static_cast<unsigned>((threads + kTableBlock - 1) / kTableBlock);
}

/// Number of rows of the table.
constexpr std::int64_t rows_of(const detail::SubsetSumCall& call) { return call.target + 1; }
/// Without items there is also one column: that of the empty subset.
inline gpu::WorkspaceSize workspace(const detail::SubsetSumCall& call) noexcept {
  return {.scratch = std::max<std::int64_t>(call.n, 1) * rows_of(call)};
}

/// Writes the column of only the first item; of no item if it is 0.
template <int kThreads>
__global__ void start_column(std::uint8_t* column, std::int64_t rows, std::int64_t item) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < rows) column[i] = i == 0 || i == item ? 1 : 0;
}

/// Packs a column to bits, 32 rows per warp: lanes read adjacent bytes, and their ballot is the word.
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

/// Calls launch_column(column, before, item), which returns its error, for every item except the first. Then packs the
/// last column into the bitmap.
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
