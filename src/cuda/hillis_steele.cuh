// SPDX-License-Identifier: Apache-2.0
// cuda/hillis_steele.cuh: Hillis and Steele's rounds, in shared memory for tiles and in global memory for whole arrays.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::gpu {

// ------------------------------------------------------------------------------------------------------------- a tile

/// The arrays that a round reads and writes.
template <class T>
struct RoundTiles {
  T* from;
  T* to;

  __host__ __device__ RoundTiles(detail::SharedArrays& memory, int elements)
      : from(memory.take<T>(elements)), to(memory.take<T>(elements)) {}
};

template <class Element, class T>
__global__ void scan_tiles_by_rounds(Element element, T* out, T* totals, std::int64_t n) {
  extern __shared__ __align__(16) unsigned char shared[];
  detail::SharedArrays arrays(shared);
  auto [from, to] = RoundTiles<T>(arrays, static_cast<int>(blockDim.x));
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + lane;
  from[lane] = element(i < n ? i : n - 1);  // any value is correct past the end: no earlier result depends on it
  __syncthreads();                          // all elements before the first round
  for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
    to[lane] = lane >= stride ? element.op(from[lane - stride], from[lane]) : from[lane];
    __syncthreads();  // the round is complete before the next reads it
    T* const last = from;
    from = to;
    to = last;
  }
  if (i < n) out[i] = from[lane];
  if (totals != nullptr && lane == static_cast<int>(blockDim.x) - 1) totals[blockIdx.x] = from[lane];
}

/// The tiles of Blocks.
struct HillisSteeleTiles {
  static constexpr int kTile = tuning::kTeachingOrder.scan_tile;
  template <class Element, class T>
  [[nodiscard]] cudaError_t launch(const Element& element, T* out, T* totals, std::int64_t n, unsigned blocks,
                                   cudaStream_t stream) const {
    const detail::Grid grid{.blocks = blocks,
                            .threads = kTile,
                            .stream = stream,
                            .shared_bytes = detail::shared_bytes_of<RoundTiles<T>>(kTile)};
    return detail::launch(grid, scan_tiles_by_rounds<Element, T>, element, out, totals, n);
  }
};

// ------------------------------------------------------------------------------------------------------ a whole array

inline constexpr int kRoundThreads = tuning::kTeaching.threads;

template <class Element, class T>
__global__ void copy_elements(Element element, T* to, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRoundThreads + threadIdx.x;
  if (i < n) to[i] = element(i);
}

template <class T, class Op>
__global__ void round_of(Op op, const T* from, T* to, std::int64_t stride, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRoundThreads + threadIdx.x;
  if (i >= n) return;
  to[i] = i >= stride ? op(from[i - stride], from[i]) : from[i];
}

/// See in_order.cuh.
struct Rounds {
  static constexpr std::int64_t values(std::int64_t n) { return n; }

  template <class Element, class T>
  [[nodiscard]] static cudaError_t scan(const Element& element, T* out, T* scratch, std::int64_t n, bool reads_out,
                                        cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((n + kRoundThreads - 1) / kRoundThreads);
    int rounds = 0;
    while ((std::int64_t{1} << rounds) < n) ++rounds;
    // Rounds write two arrays in turn, and the last round must write the output. The number of rounds therefore
    // determines to which array the elements are copied first. If this array is the input (in place), the copy would
    // overwrite elements before they are read. In that case there is one more round.
    if (rounds % 2 == 0 && reads_out) ++rounds;
    T* from = rounds % 2 == 0 ? out : scratch;
    T* to = rounds % 2 == 0 ? scratch : out;
    const detail::Grid grid{.blocks = blocks, .threads = kRoundThreads, .stream = stream};
    cudaError_t error = detail::launch(grid, copy_elements<Element, T>, element, from, n);
    if (error != cudaSuccess) return error;
    for (int round = 0; round < rounds; ++round) {
      error =
          detail::launch(grid, round_of<T, decltype(element.op)>, element.op, from, to, std::int64_t{1} << round, n);
      if (error != cudaSuccess) return error;
      std::swap(from, to);
    }
    return cudaSuccess;
  }
};

}  // namespace upsweep::gpu
