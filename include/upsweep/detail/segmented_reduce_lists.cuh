// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_reduce_lists.cuh: kernels that reduce lists: lists, masks, outcomes, and folds of lanes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/error.hpp"

// The namespace is that of the library's folder that uses most of this. Kernels and functions that launch them are
// static: each file has its own, as each may be compiled for other architectures.
namespace upsweep::impl::segmented_reduce {

// A reducer has the types In of elements and Value of folds, and the functions
//   reads()               whether the elements' values are needed at all
//   none()                the fold of an empty list
//   of(x, position)       the value of one element at that position in the list
//   merge(a, b)           associative; none() changes nothing
//   write(list, value)    writes the list's result
//   write_empty(list)     writes the result of a list without valid elements, if it is not write(list, none())

/// Whether merge(a, b) may differ from merge(b, a). Then the elements of b must follow the elements of a.
template <class R>
inline constexpr bool kFoldsInOrder = false;
/// Whether the reducer counts elements. Then the bounds may be sufficient.
template <class R>
inline constexpr bool kCounts = false;

/// A Mask on the device.
struct Booleans {
  const std::uint8_t* data;  ///< null: not given
  std::int64_t first_bit;
  bool is_bitmap;

  __device__ bool operator[](std::int64_t i) const {
    if (data == nullptr) return true;
    if (!is_bitmap) return data[i] != 0;
    const std::int64_t bit = first_bit + i;
    return ((data[bit / 8] >> (bit % 8)) & 1) != 0;
  }
};
/// Returns a mask whose first boolean has the number `first`.
inline Booleans booleans(const Mask& mask, std::int64_t first = 0) {
  if (!mask.is_given()) return {nullptr, 0, false};
  if (mask.is_bitmap) return {mask.data, mask.first_bit - first, true};
  return {mask.data - first, 0, false};
}

enum class BoundKind : std::uint8_t { int32, uint32, int64, one_size };

struct Extent {
  std::int64_t start;
  std::int64_t length;
};

/// The lists of a call. The same kernel reads bounds of every type.
struct GivenLists {
  const void* starts;
  const void* stops;
  std::int64_t count;
  const std::int64_t* count_at;  ///< the count in device memory, at most `count`; null: `count`; only for cuda.lanes
  std::int64_t size;             ///< of lists of one size
  std::int64_t begin;            ///< of the content: the minimum of bounds
  std::int64_t end;              ///< of the content: the maximum of bounds
  bool cuts_last;                ///< the last list may extend past `end`; then it is truncated there
  Booleans valid;
  gpu::ListsStatus* status;
  BoundKind kind;

  __device__ std::int64_t bound(const void* bounds, std::int64_t i) const {
    if (kind == BoundKind::int64) return __ldg(static_cast<const long long*>(bounds) + i);
    const std::int32_t word = __ldg(static_cast<const std::int32_t*>(bounds) + i);
    return kind == BoundKind::int32 ? word : static_cast<std::int64_t>(static_cast<std::uint32_t>(word));
  }
  /// Returns the end in the content of list i, which has these bounds.
  __device__ std::int64_t end_of(std::int64_t i, std::int64_t start, std::int64_t stop) const {
    return cuts_last && i == count - 1 && start <= end && stop > end ? end : stop;
  }
  /// Returns the error of list i, which has these bounds, as check_list() of core/lists.hpp does.
  __device__ Code check(std::int64_t i, std::int64_t start, std::int64_t stop) const {
    if (start == stop) return Code::ok;
    if (stop < start) return Code::stop_before_start;
    if (start < begin) return Code::negative_start;
    return end_of(i, start, stop) > end ? Code::stop_past_end : Code::ok;
  }
  /// Returns list i; an empty list if it is null or bad.
  __device__ Extent extent(std::int64_t i, Code& code) const {
    code = Code::ok;
    if (!valid[i]) return {0, 0};
    if (kind == BoundKind::one_size) return {i * size, size};
    const std::int64_t start = bound(starts, i);
    const std::int64_t stop = bound(stops, i);
    code = check(i, start, stop);
    return code == Code::ok ? Extent{start, end_of(i, start, stop) - start} : Extent{0, 0};
  }
  __device__ void report(std::int64_t bad) const {
    atomicMin(reinterpret_cast<long long*>(&status->first_bad), static_cast<long long>(bad));
  }
  /// Returns list i as extent() does, and reports a bad list.
  __device__ Extent list(std::int64_t i) const {
    Code code;
    const Extent found = extent(i, code);
    if (code != Code::ok) report(i);
    return found;
  }
};

inline GivenLists lists_of(const detail::SegmentedReduceCall& call) {
  const Lists& lists = call.lists;
  const BoundKind kind = lists.has_size               ? BoundKind::one_size
                         : lists.type == Type::int32  ? BoundKind::int32
                         : lists.type == Type::uint32 ? BoundKind::uint32
                                                      : BoundKind::int64;
  return {.starts = lists.starts,
          .stops = lists.stops,
          .count = lists.count,
          .count_at = call.count_at,
          .size = lists.size,
          .begin = call.first,
          .end = call.first + call.n,
          .cuts_last = call.cuts_last,
          .valid = booleans(lists.valid),
          .status = call.status,
          .kind = kind};
}

/// The content, starting at the element that bounds count as 0, and its mask of valid elements.
template <class T>
struct Content {
  const T* data;
  Booleans valid;
};
template <class T>
Content<T> content_of(const detail::SegmentedReduceCall& call) {
  return {static_cast<const T*>(call.in) - call.first, booleans(call.valid, call.first)};
}

/// Writes a list's result. is_empty() returns whether the list has no valid element.
template <class R, class IsEmpty>
__device__ __forceinline__ void write_result(const R& reducer, std::int64_t list, const typename R::Value& value,
                                             IsEmpty is_empty) {
  if constexpr (requires { reducer.write_empty(list); }) {
    if (is_empty()) return reducer.write_empty(list);
  }
  reducer.write(list, value);
}

/// Whether all elements of a list that folds to `value` are null. Only needed for sums of floats, where the fold of no
/// elements is -0.0. Other lists rarely fold to -0.0, so the masks are rarely read again.
template <class In, class T>
__device__ bool is_all_null(const Content<In>& content, const Extent& list, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (list.length == 0) return true;
    if (content.valid.data == nullptr || value != T{0} || !signbit(value)) return false;
    for (std::int64_t j = list.start; j < list.start + list.length; ++j) {
      if (content.valid[j]) return false;
    }
  }
  return true;
}

// ------------------------------------------------------------------------------------------------------- the outcome
// While a call runs, status->first_bad is the minimum reported index. Afterwards it is as the header describes.

inline constexpr std::int64_t kNoneBad = std::numeric_limits<std::int64_t>::max();

template <int = 0>
static __global__ void begin_status(gpu::ListsStatus* status) {
  *status = {kNoneBad, Code::ok};
}

/// Sets the final status. One thread calls it, after all lists have been checked.
__device__ inline void conclude(const GivenLists& lists) {
  const std::int64_t bad = *const_cast<volatile std::int64_t*>(&lists.status->first_bad);
  Code code = Code::ok;
  if (bad != kNoneBad) {
    (void)lists.extent(bad, code);
    if (code == Code::ok) code = Code::overflow;  // the list is valid, but its sum does not fit
  }
  *lists.status = {bad == kNoneBad ? kNoIndex : bad, code};
}
template <int = 0>
static __global__ void end_status(GivenLists lists) {
  conclude(lists);
}

/// Launches begin_status, calls run(), which returns the error of its launches, and launches end_status.
template <class Run>
static Status with_status(const detail::SegmentedReduceCall& call, Run run) {
  const gpu::Stream stream = call.launch->stream;
  cudaError_t error = gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, begin_status<>, call.status);
  if (error == cudaSuccess && call.lists.count > 0) error = run();
  if (error == cudaSuccess) {
    error = gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, end_status<>, lists_of(call));
  }
  return gpu::status_of(error);
}

// ------------------------------------------------------------------------------------------------------ folds of lanes

/// Loads an element through the read-only cache, which supports CUDA's arithmetic types.
template <class In>
__device__ __forceinline__ In load_element(const In* from) {
  if constexpr (std::is_arithmetic_v<In>) {
    return __ldg(from);
  } else {
    return *from;
  }
}

/// Folds elements from, from + threads, … of a list, up to `to`.
template <int kLoads, class R>
__device__ __forceinline__ typename R::Value fold_strided(const R& reducer, const Content<typename R::In>& content,
                                                          std::int64_t start, std::int64_t from, std::int64_t to,
                                                          int threads) {
  using In = typename R::In;
  typename R::Value total = reducer.none();
  for (std::int64_t j = from; j < to; j += kLoads * threads) {
    In x[kLoads];
    bool there[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      const std::int64_t at = j + u * threads;
      there[u] = at < to && content.valid[start + at];
      x[u] = there[u] && reducer.reads() ? load_element(content.data + start + at) : In{};
    }
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      if (there[u]) total = reducer.merge(total, reducer.of(x[u], j + u * threads));
    }
  }
  return total;
}

/// Folds kLanes neighboring lanes. All of them return the fold.
template <int kLanes, class R>
__device__ __forceinline__ typename R::Value fold_lanes(const R& reducer, typename R::Value value) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    const auto other = gpu::detail::move_words(
        value, [&](std::uint32_t word) { return __shfl_xor_sync(gpu::detail::kAllLanes, word, step); });
    const bool is_before = kFoldsInOrder<R> && (threadIdx.x & static_cast<unsigned>(step)) != 0;
    value = is_before ? reducer.merge(other, value) : reducer.merge(value, other);
  }
  return value;
}

/// Folds elements from … to - 1 of a list by kLanes neighboring lanes; all of them return the fold. All lanes of the
/// warp must call it. In order, lanes take rows of kLoads consecutive elements each. Without an order, a faster strided
/// access is used.
template <int kLanes, int kLoads, class R>
__device__ __forceinline__ typename R::Value fold_range(const R& reducer, const Content<typename R::In>& content,
                                                        std::int64_t start, std::int64_t from, std::int64_t to) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  if constexpr (!kFoldsInOrder<R>) {
    return fold_lanes<kLanes>(reducer, fold_strided<kLoads>(reducer, content, start, from + lane, to, kLanes));
  } else {
    typename R::Value total = reducer.none();
    for (; __any_sync(gpu::detail::kAllLanes, from < to); from += kLanes * kLoads) {
      const std::int64_t mine = from + lane * kLoads;
      const std::int64_t end = mine + kLoads < to ? mine + kLoads : to;
      const auto row = fold_lanes<kLanes>(reducer, fold_strided<kLoads>(reducer, content, start, mine, end, 1));
      total = reducer.merge(total, row);
    }
    return total;
  }
}

/// Folds the values of a block's warps, on the first warp. All lanes of a warp have its value. `memory` holds one value
/// per warp.
template <class R>
__device__ __forceinline__ typename R::Value fold_warps(const R& reducer, typename R::Value value,
                                                        typename R::Value* memory) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncthreads();  // the memory may still be read for the previous list
  if (lane == 0) memory[warp] = value;
  __syncthreads();
  if (warp > 0) return value;
  value = lane < static_cast<int>(blockDim.x) / 32 ? memory[lane] : reducer.none();
  return fold_lanes<32>(reducer, value);
}

/// Folds the values of a block's threads, on the first warp.
template <class R>
__device__ __forceinline__ typename R::Value fold_block(const R& reducer, typename R::Value value,
                                                        typename R::Value* memory) {
  return fold_warps(reducer, fold_lanes<32>(reducer, value), memory);
}

}  // namespace upsweep::impl::segmented_reduce
