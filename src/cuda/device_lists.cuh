// SPDX-License-Identifier: Apache-2.0
// cuda/device_lists.cuh: lists in device memory as kernels read them, and the pass over their bounds that checks them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "cuda/list_facts.hpp"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/segmented_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::gpu {

/// mask[i]; true where there is no mask.
__device__ inline bool is_true(const Mask& mask, std::int64_t i) {
  if (mask.length == -1) return true;
  if (!mask.is_bitmap) return mask.data[i] != 0;
  const std::int64_t bit = mask.first_bit + i;
  return ((mask.data[bit / 8] >> (bit % 8)) & 1) != 0;
}

/// The type of the bounds is looked at for each of them: a branch that all threads take alike, beside an access to memory.
struct DeviceLists {
  Lists lists;

  [[nodiscard]] __device__ std::int64_t start(std::int64_t i) const {
    return lists.has_size ? i * lists.size : bound(lists.starts, i);
  }
  [[nodiscard]] __device__ std::int64_t stop(std::int64_t i) const {
    return lists.has_size ? (i + 1) * lists.size : bound(lists.stops, i);
  }
  [[nodiscard]] __device__ bool is_null(std::int64_t i) const { return !is_true(lists.valid, i); }

 private:
  [[nodiscard]] __device__ std::int64_t bound(const void* bounds, std::int64_t i) const {
    if (lists.type == Type::int64) return static_cast<const std::int64_t*>(bounds)[i];
    if (lists.type == Type::int32) return static_cast<const std::int32_t*>(bounds)[i];
    return static_cast<const std::uint32_t*>(bounds)[i];
  }
};

/// Sets element number `at`'s bit in a bitmap of heads: of elements that a list begins with.
__device__ inline void mark_head(unsigned* heads, std::int64_t at) { atomicOr(heads + at / 32, 1U << (at % 32)); }

/// The same of the lists of a warp, where `is_there`; all lanes call it. Short lists begin in few words, one after the other:
/// the first lane of each word sets all its bits.
__device__ inline void mark_heads(unsigned* heads, std::int64_t at, bool is_there, std::int64_t content) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // An empty list has no bit, but its bounds may be anything.
  const unsigned word = at < 0 || at > content ? ~0U : static_cast<unsigned>(at / 32);
  unsigned bits = is_there ? 1U << (at % 32) : 0U;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const unsigned other_word = __shfl_down_sync(detail::kAllLanes, word, step);
    const unsigned other_bits = __shfl_down_sync(detail::kAllLanes, bits, step);
    if (lane + step < 32 && other_word == word) bits |= other_bits;
  }
  const unsigned before = __shfl_up_sync(detail::kAllLanes, word, 1);
  if (bits != 0 && (lane == 0 || before != word)) atomicOr(heads + word, bits);
}
constexpr std::int64_t head_words(std::int64_t elements) { return elements / 32 + 1; }

struct VisitNothing {
  __device__ void operator()(std::int64_t, std::int64_t, bool) const {}
};

/// Checks every list. All lanes of a warp call visit(start, stop, is_there) together: is_there where a list has elements and is
/// good. Nulls are empty.
template <class Visit>
static __global__ void __launch_bounds__(256)
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
    const bool is_bad = start != stop && (stop < start || start < 0 || stop > content);
    const bool is_there = start != stop && !is_bad;
    if (is_bad) atomicMax(&facts->bad, ~static_cast<unsigned long long>(i));
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

/// Blocks of 256 threads for so many things, no more than fill the device.
inline unsigned blocks_for(std::int64_t things, const Launch& launch) {
  const std::int64_t most = std::int64_t{8} * std::max(launch.multiprocessors, 1);
  return static_cast<unsigned>(std::clamp<std::int64_t>((things + 255) / 256, 1, most));
}

template <class Visit>
cudaError_t launch_check(const Lists& lists, std::int64_t content, ListFacts* facts, Visit visit,
                         const Launch& launch) {
  return detail::launch({.blocks = blocks_for(lists.count, launch), .threads = 256, .stream = launch.stream},
                        check_lists<Visit>, DeviceLists{lists}, content, facts, visit);
}

/// The outcome of a call, written by one thread after the pass.
__device__ inline void report(const DeviceLists& lists, std::int64_t content, const ListFacts& facts,
                              ListsStatus* status) {
  *status = {kNoIndex, Code::ok};
  if (facts.bad == 0) return;
  const auto list = static_cast<std::int64_t>(~facts.bad);
  const std::int64_t start = lists.start(list);
  const std::int64_t stop = lists.stop(list);
  *status = {list, stop < start ? Code::stop_before_start : start < 0 ? Code::negative_start : Code::stop_past_end};
}

}  // namespace upsweep::gpu
