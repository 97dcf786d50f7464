// SPDX-License-Identifier: Apache-2.0
// cuda/in_order.cuh: one element after the other on a GPU: by one thread, or by threads that take turns.
//
// A strategy to scan n elements on a GPU is a struct, in this file and in hillis_steele.cuh and scan_by_blocks.cuh. The
// function scan() of the struct writes the inclusive scan of element(0) … element(n - 1) to `out` and returns the
// launches' error. `element` is a functor with the operator as element.op, and need not be stored in memory. `scratch`
// has space for values(n) results, if the strategy defines values(n). `reads_out`: the elements are stored where the
// results are written.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::gpu {

template <class Element, class T>
__global__ void scan_alone(Element element, T* out, std::int64_t n) {
  T total = element(0);
  for (std::int64_t i = 0; i < n; ++i) {
    // Read before the write: if the scan is in place and exclusive, out[i] overwrites it.
    const T next = element(i + 1 < n ? i + 1 : i);
    out[i] = total;
    total = element.op(total, next);
  }
}

struct OneThread {
  template <class Element, class T>
  [[nodiscard]] static cudaError_t scan(const Element& element, T* out, T* /*scratch*/, std::int64_t n,
                                        bool /*reads_out*/, cudaStream_t stream) {
    return detail::launch({.blocks = 1, .threads = 1, .stream = stream}, scan_alone<Element, T>, element, out, n);
  }
};

inline constexpr int kTurnThreads = tuning::kTeaching.turn_threads;

template <class Element, class T>
__global__ void take_turns(Element element, T* out, std::int64_t first, std::int64_t n) {
  const std::int64_t i = first + threadIdx.x;
  for (int turn = 0; turn < kTurnThreads; ++turn) {
    if (static_cast<int>(threadIdx.x) == turn && i < n) {
      out[i] = i == 0 ? element(0) : element.op(out[i - 1], element(i));
    }
    __syncthreads();  // this turn's output before the next one reads it
  }
}

/// Blocks have no order within a launch, so each block is a launch.
struct Turns {
  template <class Element, class T>
  [[nodiscard]] static cudaError_t scan(const Element& element, T* out, T* /*scratch*/, std::int64_t n,
                                        bool /*reads_out*/, cudaStream_t stream) {
    for (std::int64_t first = 0; first < n; first += kTurnThreads) {
      const cudaError_t error = detail::launch({.blocks = 1, .threads = kTurnThreads, .stream = stream},
                                               take_turns<Element, T>, element, out, first, n);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  }
};

}  // namespace upsweep::gpu
