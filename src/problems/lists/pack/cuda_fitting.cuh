// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_fitting.cuh: checks that given offsets match the lengths of their lists.
#pragma once

#if UPSWEEP_HAS_CUDA
#include <cstdint>

#include "cuda/moved_lists.cuh"
#include "upsweep/error.hpp"

namespace upsweep::impl::pack {

/// Given offsets with the interface of cuda/list_path.cuh.
struct FittingOffsets {
  static constexpr Code kTooFar = Code::unequal_lengths;
  const std::int64_t* data;
  gpu::MovedLists lists;
  std::int64_t count = lists.count;

  __device__ __forceinline__ std::int64_t operator()(std::int64_t i) const { return data[i]; }
  [[nodiscard]] __device__ bool is_bad(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    const std::int64_t length = lists.at(i).length;
    return length < 0 || end < begin || gpu::apart(end, begin) != length;
  }
  [[nodiscard]] __device__ Code wrong(std::int64_t i) const {
    const Code code = lists.check(i);
    return code == Code::ok ? Code::unequal_lengths : code;
  }
  __device__ static std::int64_t elements(std::int64_t total) { return total; }
};

}  // namespace upsweep::impl::pack
#endif
