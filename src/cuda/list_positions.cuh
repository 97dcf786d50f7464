// SPDX-License-Identifier: Apache-2.0
// cuda/list_positions.cuh: adjacent lists, and values written for their elements, for cuda/list_path.cuh.
#pragma once

#if UPSWEEP_HAS_CUDA
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/list_path.cuh"
#include "upsweep/lists.hpp"

namespace upsweep::gpu {

/// Offsets of consecutive lists.
struct AdjacentOffsets {
  static constexpr Code kTooFar = Code::overflow;
  const void* data;  ///< null: lists of one size
  std::int64_t count;
  std::int64_t size;
  Type type;

  explicit AdjacentOffsets(const Lists& lists)
      : data(lists.has_size || lists.count == 0 ? nullptr : lists.starts),
        count(lists.count),
        size(lists.size),
        type(lists.type) {}

  __device__ __forceinline__ std::int64_t operator()(std::int64_t i) const {
    return data == nullptr ? i * size : bound_at(data, type, i);
  }
  __device__ static bool is_bad(std::int64_t, std::int64_t begin, std::int64_t end) { return end < begin; }
  __device__ static Code wrong(std::int64_t) { return Code::stop_before_start; }
  __device__ static std::int64_t elements(std::int64_t total) { return total; }
};

using PositionSink = ArraySink<std::int64_t, 2>;

struct ListNumber : PositionSink {
  __device__ static std::int64_t value(std::int64_t list, std::int64_t, std::int64_t) { return list; }
};

}  // namespace upsweep::gpu
#endif
