// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/lookback_scan.cuh: a scan in one pass over memory on any GPU: decoupled look-back.
//
// A block takes a tile by ticket, scans it and publishes its aggregate. Its first warp then looks back (look_back.cuh)
// and publishes the tile's prefix. Running blocks take tickets in order. So a block that others wait for is running,
// and there is no deadlock. Timing determines which tiles have published their prefix when they are read. So the order
// in which floats are added also depends on timing.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/look_back.cuh"
#include "upsweep/detail/tuning/scan.hpp"

namespace upsweep::gpu::detail {

inline constexpr int kLookbackThreads = tuning::kLookback.threads;

template <class T>
inline constexpr int kLookbackItems = [] {
  const int fit = tuning::kLookback.item_bytes / int{sizeof(T)};
  return fit > tuning::kLookback.most_items ? tuning::kLookback.most_items : fit;
}();

template <class T>
inline constexpr int kLookbackTile = kLookbackThreads * kLookbackItems<T>;

template <class Problem>
static __global__ void __launch_bounds__(kLookbackThreads, tuning::kLookback.resident)
    lookback_scan(const __grid_constant__ DeviceScan<Problem> call) {
  using T = typename Problem::T;
  constexpr int kItems = kLookbackItems<T>;
  constexpr int kTile = kLookbackTile<T>;
  constexpr int kWarps = kLookbackThreads / 32;
  // One more element for each thread, so that the elements of threads begin in different banks.
  __shared__ alignas(kElementAlignment) unsigned char exchange[kLookbackThreads * (kItems + 1) * sizeof(T)];
  __shared__ alignas(kElementAlignment) unsigned char totals_bytes[(kWarps + 1) * sizeof(T)];
  __shared__ std::int64_t shared_tile;
  T* const elements = reinterpret_cast<T*>(exchange);
  T* const totals = reinterpret_cast<T*>(totals_bytes);
  T& shared_prefix = totals[kWarps];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  const auto op = call.problem.op;
  const unsigned tag = tag_of(call.workspace);

  if (thread == 0) shared_tile = atomicAdd(&call.workspace.control->ticket, 1U);
  __syncthreads();
  const std::int64_t tile = shared_tile;
  const std::int64_t first = tile * kTile;
  const std::int64_t n = call.length();
  if (first >= n) {  // n is in device memory
    if (thread == 0) leave(call.workspace, tag);
    return;
  }

  // ---- Neighboring threads read neighboring elements; then each thread takes kItems consecutive elements. Past the
  // end the last element is read again. It is a valid value, and its results are not written.
  const int count = n - first < kTile ? static_cast<int>(n - first) : kTile;
  const auto* const in = call.in[0] + first;
  T items[kItems];
  if (count == kTile) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) items[i] = static_cast<T>(in[i * kLookbackThreads + thread]);
  } else {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int place = i * kLookbackThreads + thread;
      items[i] = static_cast<T>(in[place < count ? place : count - 1]);
    }
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int place = i * kLookbackThreads + thread;
    elements[place + place / kItems] = items[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) items[i] = elements[thread * (kItems + 1) + i];

  // ---- The tile: threads, warps, block.
  const T inclusive = scan_lanes(op, fold_items(op, items), lane);
  T before = shuffle_up(inclusive, 1);  // within the warp; undefined in lane 0
  if (lane == 31) totals[warp] = inclusive;
  __syncthreads();
  const T warps = scan_lanes(op, totals[lane < kWarps ? lane : 0], lane);
  const T warps_before = shuffle(warps, warp > 0 ? warp - 1 : 0);

  // ---- The prefix of the tile.
  const T aggregate = shuffle(warps, kWarps - 1);
  if (warp == 0) {
    T prefix = call.initial();
    if (tile > 0) {
      if (lane == 0) put_tagged(call.workspace.words, tile, aggregate, tag);
      prefix = look_back<T>(op, call.workspace, tile, tag, lane);
    }
    if (lane == 0) {
      const bool any = tile > 0 || call.has_init;
      put_tagged(call.workspace.words, tile, any ? op(prefix, aggregate) : aggregate, tag | kPrefixTag);
      shared_prefix = prefix;
    }
  }
  __syncthreads();
  if (thread == kLookbackThreads - 1) leave(call.workspace, tag);  // while the other threads write

  // ---- The results, exchanged back through shared memory.
  bool any = tile > 0 || call.has_init;
  T left = shared_prefix;
  if (warp > 0) {
    left = any ? op(left, warps_before) : warps_before;
    any = true;
  }
  if (lane > 0) {
    left = any ? op(left, before) : before;
    any = true;
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const T after = any ? op(left, items[i]) : items[i];
    elements[thread * (kItems + 1) + i] = call.exclusive ? left : after;
    left = after;
    any = true;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int place = i * kLookbackThreads + thread;
    if (place < count) call.out[first + place] = elements[place + place / kItems];
  }
}

/// Returns the bytes of workspace for n elements. Static, as files that are compiled for other GPUs may have other
/// tiles.
template <class Problem>
static constexpr std::int64_t lookback_bytes(std::int64_t n) {
  constexpr std::int64_t kTile = kLookbackTile<typename Problem::T>;
  return std::int64_t{sizeof(Control)} + (n + kTile - 1) / kTile * kTaggedWords<typename Problem::T> * 8;
}

/// Launches a scan of n > 0 elements. Static, as the kernel is: see tile_pipeline.
template <class Problem>
static cudaError_t launch_lookback(const DeviceScan<Problem>& call, cudaStream_t stream) {
  constexpr std::int64_t kTile = kLookbackTile<typename Problem::T>;
  const auto blocks = static_cast<unsigned>((call.n + kTile - 1) / kTile);
  return launch({.blocks = blocks, .threads = kLookbackThreads, .stream = stream}, lookback_scan<Problem>, call);
}

}  // namespace upsweep::gpu::detail
