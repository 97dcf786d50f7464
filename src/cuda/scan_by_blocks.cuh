// SPDX-License-Identifier: Apache-2.0
// cuda/scan_by_blocks.cuh: blocks scan tiles independently; their totals are scanned likewise, and added back.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::gpu {

/// Values that are stored in memory.
template <class T, class Op>
struct Values {
  const T* values;
  Op op;
  __device__ T operator()(std::int64_t i) const { return values[i]; }
};

template <class T, class Op>
__global__ void add_back(Op op, const T* totals, T* out, std::int64_t n, int tile) {
  // Block b adds what precedes tile b + 1.
  const std::int64_t first = (std::int64_t{blockIdx.x} + 1) * tile;
  const T before = totals[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < tile && first + i < n; i += static_cast<int>(blockDim.x)) {
    out[first + i] = op(before, out[first + i]);
  }
}

/// See in_order.cuh. A block processes Tiles::kTile elements. Tiles{}.launch(elements, out, totals, n, blocks, stream)
/// scans every tile independently, writes their totals unless `totals` is null, and returns its error. Any n is
/// supported.
template <class Tiles>
struct Blocks {
  static constexpr int kTile = Tiles::kTile;

  /// Returns the number of totals of all levels.
  static constexpr std::int64_t values(std::int64_t n) {
    std::int64_t all = 0;
    while (n > kTile) {
      n = (n + kTile - 1) / kTile;
      all += n;
    }
    return all;
  }

  template <class Elements, class T>
  [[nodiscard]] static cudaError_t scan(const Elements& elements, T* out, T* totals, std::int64_t n, bool /*reads_out*/,
                                        cudaStream_t stream) {
    const std::int64_t blocks = (n + kTile - 1) / kTile;
    if (blocks == 1) return Tiles{}.launch(elements, out, static_cast<T*>(nullptr), n, 1, stream);
    cudaError_t error = Tiles{}.launch(elements, out, totals, n, static_cast<unsigned>(blocks), stream);
    if (error != cudaSuccess) return error;
    // ---- Scan the totals, in place.
    using Op = decltype(elements.op);
    error = scan(Values<T, Op>{totals, elements.op}, totals, totals + blocks, blocks, true, stream);
    if (error != cudaSuccess) return error;
    // ---- Add them to all tiles except the first.
    return detail::launch(
        {.blocks = static_cast<unsigned>(blocks - 1), .threads = tuning::kTeaching.threads, .stream = stream},
        add_back<T, Op>, elements.op, totals, out, n, kTile);
  }
};

}  // namespace upsweep::gpu
