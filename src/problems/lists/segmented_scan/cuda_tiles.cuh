// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_tiles.cuh: scans lists by tiles of the content; a bit per element marks the heads
// of lists.
//
// The result of a tile for later tiles is the fold of its elements from its last head on, with init. If a tile has no
// head, it is the fold of all its elements. These folds are computed first; with short lists they cover a few elements.
// The folds are scanned in groups, and the totals of groups are also scanned. Then a tile begins with two values that
// are available: one of the tile's group and one of the groups before. No block waits, and floats are folded in one
// fixed order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/device_lists.cuh"
#include "problems/lists/segmented_scan/folds.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/tuning/segmented_scan.hpp"

namespace upsweep::impl::segmented_scan {

inline constexpr int kThreads = gpu::tuning::kListTilesOrder.threads;
template <class T>
inline constexpr int kItems =
    sizeof(T) == 8 ? gpu::tuning::kListTilesOrder.wide_items : gpu::tuning::kListTilesOrder.items;
template <class T>
inline constexpr int kTile = kThreads * kItems<T>;
/// Number of tiles whose folds a block scans.
inline constexpr int kGroup = gpu::tuning::kListTilesOrder.group;

/// The arguments of a call's kernels.
template <class In, class T, class Op>
struct ListScan {
  static constexpr T kNone = Op::template identity<T>();

  gpu::DeviceLists lists;
  const In* in;
  T* out;
  std::int64_t n;
  T init;
  T first;  ///< first output of a list if exclusive: init, or 0.0 for sums of floats without init
  Op op;
  bool exclusive;
  Mask valid;  ///< of the elements
  gpu::ListFacts* facts;
  unsigned* heads;
  Fold<T>* tiles;   ///< folds that tiles pass on; later scanned within their group
  Fold<T>* groups;  ///< folds of groups; later scanned
  gpu::ListsStatus* status;

  [[nodiscard]] __device__ std::int64_t limit() const { return static_cast<std::int64_t>(facts->end); }
  /// Loads values[k] ← element first + k·step if that is before `end`; for a null element, the identity. All loads are
  /// issued before any mask is read.
  template <int kCount>
  __device__ __forceinline__ void load(T (&values)[kCount], std::int64_t first, int step, std::int64_t end) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const std::int64_t at = first + k * step;
      if (at < end) values[k] = static_cast<T>(in[at]);
    }
    if (valid.length == -1) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const std::int64_t at = first + k * step;
      if (at < end && !gpu::is_true(valid, at)) values[k] = kNone;
    }
  }
};

/// Sets the outputs of each list before its first valid element to 0.0; if exclusive, also that of this element. One
/// warp processes a list.
template <class In, class T, class Op>
__global__ void __launch_bounds__(kThreads) zero_nulls(const __grid_constant__ ListScan<In, T, Op> scan) {
  if (scan.facts->bad != 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * (kThreads / 32);
  for (std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32; i < scan.lists.lists.count;
       i += warps) {
    if (scan.lists.is_null(i)) continue;
    const std::int64_t stop = scan.lists.stop(i);
    unsigned there = 0;
    for (std::int64_t base = scan.lists.start(i); base < stop && there == 0; base += 32) {
      const std::int64_t at = base + lane;
      there = __ballot_sync(gpu::detail::kAllLanes, at < stop && gpu::is_true(scan.valid, at));
      const int nulls = there == 0 ? 32 : __ffs(static_cast<int>(there)) - 1;
      if (at < stop && lane < nulls + (scan.exclusive ? 1 : 0)) scan.out[at] = T{0};
    }
  }
}

/// Returns the heads among elements at … at+31 that are before `limit`.
__device__ inline unsigned heads_at(const unsigned* heads, std::int64_t at, std::int64_t limit) {
  if (at >= limit) return 0;
  const unsigned bits = heads[at / 32];
  return limit - at >= 32 ? bits : bits & ((1U << (limit - at)) - 1);
}

/// Computes the folds that tiles pass on, with one warp per tile.
template <class In, class T, class Op>
__global__ void __launch_bounds__(kThreads)
    fold_tiles(const __grid_constant__ ListScan<In, T, Op> scan, std::int64_t tiles) {
  constexpr int kLoads = gpu::tuning::kListTiles.loads;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t tile = std::int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (tile >= tiles || scan.facts->bad != 0) return;
  const std::int64_t limit = scan.limit();
  const std::int64_t begin = tile * kTile<T>;
  const std::int64_t end = begin + kTile<T> < limit ? begin + kTile<T> : limit;
  std::int64_t from = begin;
  bool has_head = false;
  for (std::int64_t word = kTile<T> / 32 - 32; word >= 0 && !has_head; word -= 32) {
    const unsigned bits = heads_at(scan.heads, begin + (word + lane) * 32, limit);
    const unsigned lanes = __ballot_sync(gpu::detail::kAllLanes, bits != 0);
    if (lanes == 0) continue;
    const int last = 31 - __clz(static_cast<int>(lanes));
    const unsigned last_bits = __shfl_sync(gpu::detail::kAllLanes, bits, last);
    from = begin + (word + last) * 32 + 31 - __clz(static_cast<int>(last_bits));
    has_head = true;
  }
  T total = scan.init;
  bool is_first = !has_head;  // without a head, the fold does not begin with init
  for (std::int64_t base = from; base < end; base += 32 * kLoads) {
    T values[kLoads] = {};
    scan.load(values, base + lane, 32, end);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const std::int64_t left = end - (base + i * 32);
      if (left <= 0) continue;
      const int count = left < 32 ? static_cast<int>(left) : 32;
      const T row = gpu::detail::shuffle(gpu::detail::fold_lanes(scan.op, values[i], lane, count), 0);
      total = is_first ? row : scan.op(total, row);
      is_first = false;
    }
  }
  if (lane == 0) scan.tiles[tile] = fold_of(total, has_head);
}

/// Returns the inclusive scan of a block's folds, one per thread. `totals` has 32 elements.
template <class T, class Op>
__device__ Fold<T> scan_block(const Join<T, Op>& join, Fold<T> own, Fold<T>* totals) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  own = gpu::detail::scan_lanes(join, own, lane);
  if (lane == 31) totals[warp] = own;
  __syncthreads();  // the warps' totals are written
  if (warp == 0) totals[lane] = gpu::detail::scan_lanes(join, totals[lane], lane);
  __syncthreads();  // the totals are scanned
  return warp == 0 ? own : join(totals[warp - 1], own);
}

/// Scans the folds of each group with one block.
template <class T, class Op>
__global__ void __launch_bounds__(kGroup) scan_groups(Fold<T>* folds, std::int64_t count, Fold<T>* groups, Op op) {
  __shared__ Fold<T> totals[32];
  const std::int64_t at = std::int64_t{blockIdx.x} * kGroup + threadIdx.x;
  const Fold<T> scanned = scan_block(Join<T, Op>{op}, at < count ? folds[at] : Fold<T>{}, totals);
  if (at >= count) return;
  folds[at] = scanned;
  if (at == count - 1 || threadIdx.x == kGroup - 1) groups[blockIdx.x] = scanned;
}

/// Scans all groups with one block.
template <class T, class Op>
__global__ void __launch_bounds__(kGroup) scan_totals(Fold<T>* groups, std::int64_t count, Op op) {
  __shared__ Fold<T> totals[32];
  __shared__ Fold<T> before;
  const Join<T, Op> join{op};
  for (std::int64_t first = 0; first < count; first += kGroup) {
    const std::int64_t at = first + threadIdx.x;
    Fold<T> scanned = scan_block(join, at < count ? groups[at] : Fold<T>{}, totals);
    if (first > 0) scanned = join(before, scanned);
    if (at < count) groups[at] = scanned;
    __syncthreads();  // all threads have read `before` and the totals
    if (threadIdx.x == kGroup - 1) before = scanned;
    __syncthreads();  // `before` is written
  }
}

template <class In, class T, class Op>
__global__ void __launch_bounds__(kThreads, gpu::tuning::kListTiles.resident)
    scan_tiles(const __grid_constant__ ListScan<In, T, Op> scan) {
  constexpr int kOwn = kItems<T>;
  __shared__ T values[kTile<T> + kTile<T> / 32];
  __shared__ Fold<T> totals[kThreads / 32];
  __shared__ int first_head;
  const auto place = [](int i) { return i + i / 32; };  // the elements of adjacent threads begin in different banks
  const Join<T, Op> join{scan.op};
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  if (blockIdx.x == 0 && thread == 0) gpu::report(scan.lists, scan.n, *scan.facts, scan.status);
  const std::int64_t limit = scan.limit();
  const std::int64_t begin = std::int64_t{blockIdx.x} * kTile<T>;
  if (scan.facts->bad != 0 || begin >= limit) return;

  // The prefix of the tile, and its elements.
  Fold<T> carry{};
  if (blockIdx.x > 0) {
    const std::int64_t last = std::int64_t{blockIdx.x} - 1;
    carry = scan.tiles[last];
    if (carry.has_head == 0 && last >= kGroup) carry = join(scan.groups[last / kGroup - 1], carry);
  }
  if (thread == 0) first_head = carry.has_head != 0 ? 0 : kTile<T>;
  T own[kOwn];
  scan.load(own, begin + thread, kThreads, limit);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int at = i * kThreads + thread;
    if (begin + at < limit) values[place(at)] = own[i];
  }
  __syncthreads();  // elements and first_head are written
  const int first = thread * kOwn;
  const unsigned word = heads_at(scan.heads, begin + first / 32 * 32, limit);
  const unsigned heads = (word >> (first % 32)) & ((1U << kOwn) - 1);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) own[i] = values[place(first + i)];

  // The prefix of each thread.
  Fold<T> fold = fold_of(own[0], (heads & 1) != 0);
  if (fold.has_head != 0) fold.value = scan.op(scan.init, own[0]);
#pragma unroll
  for (int i = 1; i < kOwn; ++i) {
    const bool is_head = ((heads >> i) & 1) != 0;
    fold.value = scan.op(is_head ? scan.init : fold.value, own[i]);
    if (is_head) fold.has_head = 1;
  }
  fold = gpu::detail::scan_lanes(join, fold, lane);
  if (lane == 31) totals[thread / 32] = fold;
  if (carry.has_head == 0 && heads != 0) atomicMin(&first_head, first + __ffs(static_cast<int>(heads)) - 1);
  __syncthreads();  // the warps' totals and first_head are written
  for (int warp = 0; warp < thread / 32; ++warp) carry = join(carry, totals[warp]);
  const Fold<T> before_lane = gpu::detail::shuffle_up(fold, 1);
  if (lane > 0) carry = join(carry, before_lane);

  // The scan.
  T total = carry.value;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const bool is_head = ((heads >> i) & 1) != 0;
    const T before = is_head ? scan.init : total;
    total = scan.op(before, own[i]);
    values[place(first + i)] = !scan.exclusive ? total : is_head ? scan.first : before;
  }
  __syncthreads();  // the results are written
  const int first_in_list = first_head;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int at = i * kThreads + thread;
    if (at >= first_in_list && begin + at < limit) scan.out[begin + at] = values[place(at)];
  }
}

}  // namespace upsweep::impl::segmented_scan
