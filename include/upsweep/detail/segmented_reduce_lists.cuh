// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_reduce_lists.cuh: lists, masks and the outcome of a call as kernels see them that reduce lists, and how
// lanes fold.
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

// The folder of the library that most of this is for has this namespace. What launches or is a kernel is static: each file
// has its own, as each may be compiled for other architectures.
namespace upsweep::impl::segmented_reduce {

// A reducer has the types In of elements and Value of folds, and
//   reads()               whether the elements' values are needed at all
//   none()                what an empty list folds to
//   of(x, position)       what one element comes to, at that position in the list
//   merge(a, b)           associative; none() changes nothing
//   write(list, value)    the list's result
//   write_empty(list)     that of a list of which no element has come in, if it is not write(list, none())

/// Whether merge(a, b) need not be merge(b, a), so that what b comes from must come after what a does.
template <class R>
inline constexpr bool kFoldsInOrder = false;
/// Whether the reducer counts, for which the bounds may do.
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
/// Of which the first one has that number.
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

/// The lists of a call. Bounds of every type are read by the same kernel.
struct GivenLists {
  const void* starts;
  const void* stops;
  std::int64_t count;
  const std::int64_t* count_at;  ///< where the count is, up to `count`, if it is in device memory: of cuda.lanes alone
  std::int64_t size;             ///< of lists of one size
  std::int64_t begin;            ///< of the content: bounds are from there on,
  std::int64_t end;              ///< and up to there,
  bool cuts_last;                ///< but that the last list may go past it, and ends there
  Booleans valid;
  gpu::ListsStatus* status;
  BoundKind kind;

  __device__ std::int64_t bound(const void* bounds, std::int64_t i) const {
    if (kind == BoundKind::int64) return __ldg(static_cast<const long long*>(bounds) + i);
    const std::int32_t word = __ldg(static_cast<const std::int32_t*>(bounds) + i);
    return kind == BoundKind::int32 ? word : static_cast<std::int64_t>(static_cast<std::uint32_t>(word));
  }
  /// Where list i ends in the content, whose bounds are these.
  __device__ std::int64_t end_of(std::int64_t i, std::int64_t start, std::int64_t stop) const {
    return cuts_last && i == count - 1 && start <= end && stop > end ? end : stop;
  }
  /// What is wrong with these bounds of list i, as check_list() of core/lists.hpp says.
  __device__ Code check(std::int64_t i, std::int64_t start, std::int64_t stop) const {
    if (start == stop) return Code::ok;
    if (stop < start) return Code::stop_before_start;
    if (start < begin) return Code::negative_start;
    return end_of(i, start, stop) > end ? Code::stop_past_end : Code::ok;
  }
  /// Empty where it is null or bad.
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
  /// The same; a bad one is reported.
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

/// The content from the element on that bounds count as 0, and which of it is null.
template <class T>
struct Content {
  const T* data;
  Booleans valid;
};
template <class T>
Content<T> content_of(const detail::SegmentedReduceCall& call) {
  return {static_cast<const T*>(call.in) - call.first, booleans(call.valid, call.first)};
}

/// Writes a list's result. is_empty(): whether no element of it has come in.
template <class R, class IsEmpty>
__device__ __forceinline__ void write_result(const R& reducer, std::int64_t list, const typename R::Value& value,
                                             IsEmpty is_empty) {
  if constexpr (requires { reducer.write_empty(list); }) {
    if (is_empty()) return reducer.write_empty(list);
  }
  reducer.write(list, value);
}

/// Whether all elements of a list, which fold to that value, are null: of sums of floats, where the value of none is -0.0. Others
/// are hardly ever that, so that the masks are hardly ever looked at again.
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
// status->first_bad is the least index that is reported while a call runs, and then what it says in the header.

inline constexpr std::int64_t kNoneBad = std::numeric_limits<std::int64_t>::max();

template <int = 0>
static __global__ void begin_status(gpu::ListsStatus* status) {
  *status = {kNoneBad, Code::ok};
}

/// By one thread, when all lists have been looked at.
__device__ inline void conclude(const GivenLists& lists) {
  const std::int64_t bad = *const_cast<volatile std::int64_t*>(&lists.status->first_bad);
  Code code = Code::ok;
  if (bad != kNoneBad) {
    (void)lists.extent(bad, code);
    if (code == Code::ok) code = Code::overflow;  // the list is fine, but not its sum
  }
  *lists.status = {bad == kNoneBad ? kNoIndex : bad, code};
}
template <int = 0>
static __global__ void end_status(GivenLists lists) {
  conclude(lists);
}

/// Puts run(), which returns the error of its launches, between both.
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

/// By the cache for what is only read, which takes the types that CUDA knows.
template <class In>
__device__ __forceinline__ In load_element(const In* from) {
  if constexpr (std::is_arithmetic_v<In>) {
    return __ldg(from);
  } else {
    return *from;
  }
}

/// The fold of elements me, me + threads, … of a list, from position `from` on up to `to`.
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

/// The fold of kLanes neighbouring lanes, on all of them.
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

/// The fold of elements from … to - 1 of a list by kLanes neighbouring lanes, on all of them. All lanes of the warp call. In
/// order they take rows of kLoads elements each; any order is faster by columns.
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

/// The fold of the values that a block's warps have, each on all its lanes, on the first warp. `memory`: a value for each.
template <class R>
__device__ __forceinline__ typename R::Value fold_warps(const R& reducer, typename R::Value value,
                                                        typename R::Value* memory) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncthreads();  // the memory may still be read for the list before
  if (lane == 0) memory[warp] = value;
  __syncthreads();
  if (warp > 0) return value;
  value = lane < static_cast<int>(blockDim.x) / 32 ? memory[lane] : reducer.none();
  return fold_lanes<32>(reducer, value);
}

/// The fold of a block's threads, on the first warp.
template <class R>
__device__ __forceinline__ typename R::Value fold_block(const R& reducer, typename R::Value value,
                                                        typename R::Value* memory) {
  return fold_warps(reducer, fold_lanes<32>(reducer, value), memory);
}

}  // namespace upsweep::impl::segmented_reduce
