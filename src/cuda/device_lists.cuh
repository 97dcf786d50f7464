// SPDX-License-Identifier: Apache-2.0
// cuda/device_lists.cuh: lists in device memory for kernels, and the pass over their bounds that checks them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/visit.hpp"
#include "cuda/list_facts.hpp"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/detail/tuning/lists.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::gpu {

/// Threads of a block of kernels that process lists in grid strides.
inline constexpr int kStrideThreads = tuning::kStrides.threads;

// ---------------------------------------------------------------------------------------------------- masks and bounds

/// A mask that is present.
struct DeviceMask {
  const std::uint8_t* data;
  std::int64_t first_bit;
  bool is_bitmap;

  __host__ __device__ explicit DeviceMask(const Mask& mask)
      : data(mask.data), first_bit(mask.first_bit), is_bitmap(mask.is_bitmap) {}
  __device__ __forceinline__ bool operator[](std::int64_t i) const {
    if (!is_bitmap) return data[i] != 0;
    const std::int64_t bit = first_bit + i;
    return ((data[bit / 8] >> (bit % 8)) & 1) != 0;
  }
};

/// Returns mask[i]; true without a mask.
__device__ inline bool is_true(const Mask& mask, std::int64_t i) { return mask.length == -1 || DeviceMask(mask)[i]; }

/// Returns bound, length or index number i. The branch on the type is the same for all threads, and cheap next to a
/// memory access.
__device__ __forceinline__ std::int64_t bound_at(const void* bounds, Type type, std::int64_t i) {
  if (type == Type::int64) return static_cast<const std::int64_t*>(bounds)[i];
  if (type == Type::int32) return static_cast<const std::int32_t*>(bounds)[i];
  return static_cast<const std::uint32_t*>(bounds)[i];
}

/// Bounds of adjacent lists: number i is where list i begins, the last one where the last list ends.
template <class T>
struct OffsetsOf {
  using Bound = T;
  const T* offsets;
  __device__ T operator()(std::int64_t i) const { return offsets[i]; }
};
struct OffsetsOfSize {
  using Bound = std::int64_t;
  std::int64_t size;
  __device__ std::int64_t operator()(std::int64_t i) const { return i * size; }
};

/// Calls f(offsets) for adjacent lists.
template <class F>
auto visit_offsets(const Lists& lists, F f) {
  if (lists.has_size) return f(OffsetsOfSize{lists.size});
  return visit_list_bound(
      lists.type, [&]<class T>(std::type_identity<T>) { return f(OffsetsOf<T>{static_cast<const T*>(lists.starts)}); });
}

/// Whether a list that is not empty is bad.
template <class Bound>
__device__ __forceinline__ bool is_bad(Bound start, Bound stop, Bound content) {
  if constexpr (std::is_signed_v<Bound>) return stop < start || start < 0 || stop > content;
  return stop < start || stop > content;
}

/// Returns the fault of a list's bounds, by the rules of check_list() in core/lists.hpp.
__device__ inline Code check_bounds(std::int64_t start, std::int64_t stop, std::int64_t content) {
  if (start == stop) return Code::ok;
  if (stop < start) return Code::stop_before_start;
  if (start < 0) return Code::negative_start;
  return stop > content ? Code::stop_past_end : Code::ok;
}

struct DeviceLists {
  Lists lists;

  [[nodiscard]] __device__ std::int64_t start(std::int64_t i) const {
    return lists.has_size ? i * lists.size : bound_at(lists.starts, lists.type, i);
  }
  [[nodiscard]] __device__ std::int64_t stop(std::int64_t i) const {
    return lists.has_size ? (i + 1) * lists.size : bound_at(lists.stops, lists.type, i);
  }
  [[nodiscard]] __device__ bool is_null(std::int64_t i) const { return !is_true(lists.valid, i); }
};

// ------------------------------------------------------------------------------------------------------------ the pass

struct VisitNothing {
  __device__ void operator()(std::int64_t, std::int64_t, bool) const {}
};

/// Checks every list. All lanes of a warp call visit(start, stop, is_there) together. is_there is true if a list has
/// elements and is good. Null lists are empty.
template <class Visit>
static __global__ void __launch_bounds__(kStrideThreads)
    check_lists(const __grid_constant__ DeviceLists lists, std::int64_t content, ListFacts* facts, Visit visit) {
  std::int64_t elements = 0;
  std::int64_t end = 0;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t count = lists.lists.count;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x - lane; first < count;
       first += stride) {
    const std::int64_t i = first + lane;
    const bool is_list = i < count && !lists.is_null(i);
    const std::int64_t start = is_list ? lists.start(i) : -1;
    const std::int64_t stop = is_list ? lists.stop(i) : -1;
    const bool bad = start != stop && is_bad(start, stop, content);
    const bool is_there = start != stop && !bad;
    if (bad) atomicMax(&facts->bad, ~static_cast<unsigned long long>(i));
    if (is_there) elements += stop - start;
    if (is_there && stop > end) end = stop;
    visit(start, stop, is_there);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    elements += __shfl_down_sync(detail::kAllLanes, elements, step);
    const std::int64_t other = __shfl_down_sync(detail::kAllLanes, end, step);
    end = other > end ? other : end;
  }
  if (threadIdx.x % 32 != 0 || elements == 0) return;
  atomicAdd(&facts->elements, static_cast<unsigned long long>(elements));
  atomicMax(&facts->end, static_cast<unsigned long long>(end));
}

/// Returns the number of blocks of kStrideThreads threads for a number of items; at most the number that
/// fills the device.
inline unsigned blocks_for(std::int64_t things, const Launch& launch) {
  const std::int64_t most = std::int64_t{tuning::kStrides.blocks} * std::max(launch.multiprocessors, 1);
  return static_cast<unsigned>(std::clamp<std::int64_t>((things + kStrideThreads - 1) / kStrideThreads, 1, most));
}

template <class Visit>
cudaError_t launch_check(const Lists& lists, std::int64_t content, ListFacts* facts, Visit visit,
                         const Launch& launch) {
  return detail::launch({.blocks = blocks_for(lists.count, launch), .threads = kStrideThreads, .stream = launch.stream},
                        check_lists<Visit>, DeviceLists{lists}, content, facts, visit);
}

/// Writes the outcome of a call, by one thread after the pass.
__device__ inline void report(const DeviceLists& lists, std::int64_t content, const ListFacts& facts,
                              ListsStatus* status) {
  *status = {kNoIndex, Code::ok};
  if (facts.bad == 0) return;
  const auto list = static_cast<std::int64_t>(~facts.bad);
  *status = {list, check_bounds(lists.start(list), lists.stop(list), content)};
}

}  // namespace upsweep::gpu
