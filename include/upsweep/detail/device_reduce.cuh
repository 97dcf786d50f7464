// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/device_reduce.cuh: a reduction in one kernel, folded in an order that depends only on the length.
//
// A warp folds a work unit, a contiguous range of the array, in rows of 16 bytes per lane. If the operator commutes,
// each lane folds its own elements of all rows; otherwise the warp folds row by row in order. A block folds the totals
// of its warps in order. The last block to end folds the totals of the blocks in order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/tuning/reduce.hpp"

namespace upsweep::gpu::detail {

inline constexpr int kReduceThreads = tuning::kReduceOrder.threads;
inline constexpr int kReduceWarps = kReduceThreads / 32;
inline constexpr int kReduceBlocks = tuning::kReduceOrder.blocks;
inline constexpr int kReduceRows = tuning::kReduceOrder.rows;

/// kCompiled: Op is one of the library's operators.
template <class In_, class T_, class Op_, bool kCompiled>
struct ReduceProblem {
  using In = In_;
  using T = T_;
  using Op = Op_;
  static constexpr bool kCommutes = kCompiled || is_commutative<Op, T>;
  /// Elements of a lane's row.
  static constexpr int kLaneElements = 16 % sizeof(In) == 0 ? 16 / int{sizeof(In)} : 1;
  static constexpr int kRow = 32 * kLaneElements;
  static constexpr int kChunk = kReduceRows * kRow;
};

template <class Problem>
struct DeviceReduce {
  const typename Problem::In* in;
  std::int64_t n;
  typename Problem::T* out;
  typename Problem::T init;
  const typename Problem::T* init_at;  ///< the initial value in device memory; null: `init` is used
  const std::int64_t* n_at;            ///< the length in device memory, at most n; null: n
  bool has_init;
  bool vectors;  ///< the array begins at a 16-byte boundary
  Control* control;
  typename Problem::T* totals;  ///< one per block
  typename Problem::Op op;
};

/// A total, or none yet.
template <class T, class Op>
struct Accumulator {
  T total{};
  bool any = false;
  __device__ __forceinline__ void include(const Op& op, const T& right) {
    total = any ? op(total, right) : right;
    any = true;
  }
};

template <class Problem>
class WarpReduce {
 public:
  using In = typename Problem::In;
  using T = typename Problem::T;
  using Op = typename Problem::Op;
  static constexpr int kLaneElements = Problem::kLaneElements;

  __device__ __forceinline__ WarpReduce(const DeviceReduce<Problem>& call, int lane)
      : call_(call), op_(call.op), lane_(lane) {}

  /// Folds elements first … last-1, one chunk after the other. Lane 0 returns the value.
  __device__ __forceinline__ Accumulator<T, Op> run(std::int64_t first, std::int64_t last) {
    std::int64_t at = first;
    for (; at + Problem::kChunk <= last; at += Problem::kChunk) whole_chunk(at);
    if (at < last) partial_chunk(at, static_cast<int>(last - at));
    if constexpr (Problem::kCommutes) {
      Accumulator<T, Op> lane_total;
#pragma unroll
      for (int r = 0; r < kReduceRows; ++r) {
        if (rows_[r].any) lane_total.include(op_, rows_[r].total);
      }
      // Lanes without a total follow all other lanes.
      const int lanes = __popc(__ballot_sync(kAllLanes, lane_total.any));
      return {fold_lanes(op_, lane_total.total, lane_, lanes), lanes > 0};
    }
    return rows_[0];
  }

 private:
  __device__ __forceinline__ void load(std::int64_t at, T (&items)[kLaneElements]) const {
    In x[kLaneElements];
    if (kLaneElements > 1 && call_.vectors) {
      const uint4 words = __ldcs(reinterpret_cast<const uint4*>(call_.in + at));
      memcpy(x, &words, sizeof x);
    } else {
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) x[i] = call_.in[at + i];
    }
#pragma unroll
    for (int i = 0; i < kLaneElements; ++i) items[i] = static_cast<T>(x[i]);
  }
  /// Folds the first `count` of a lane's elements. `count` is at least one.
  __device__ __forceinline__ T fold(const T (&items)[kLaneElements], int count = kLaneElements) const {
    T total = items[0];
#pragma unroll
    for (int i = 1; i < kLaneElements; ++i) {
      if (i < count) total = op_(total, items[i]);
    }
    return total;
  }
  /// Adds a row to the total of the lane, or folds its first `lanes` lanes and adds that to the total of the warp.
  __device__ __forceinline__ void add_row(int row, const T& lane_total, int lanes) {
    if constexpr (Problem::kCommutes) {
      if (lane_ < lanes) rows_[row].include(op_, lane_total);
    } else {
      rows_[0].include(op_, fold_lanes(op_, lane_total, lane_, lanes));
    }
  }

  __device__ __forceinline__ void whole_chunk(std::int64_t at) {
    T items[kReduceRows][kLaneElements];
#pragma unroll
    for (int r = 0; r < kReduceRows; ++r) load(at + r * Problem::kRow + lane_ * kLaneElements, items[r]);
#pragma unroll
    for (int r = 0; r < kReduceRows; ++r) add_row(r, fold(items[r]), 32);
  }
  __device__ __forceinline__ void partial_chunk(std::int64_t at, int count) {
#pragma unroll
    for (int r = 0; r < kReduceRows; ++r) {
      const int left = count - r * Problem::kRow;  // elements of the row
      if (left <= 0) continue;
      const int mine = left - lane_ * kLaneElements;
      T items[kLaneElements];
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) {
        items[i] = static_cast<T>(call_.in[at + r * Problem::kRow + (i < mine ? lane_ * kLaneElements + i : 0)]);
      }
      const int lanes = (left + kLaneElements - 1) / kLaneElements;
      add_row(r, fold(items, mine), lanes < 32 ? lanes : 32);
    }
  }

  const DeviceReduce<Problem>& call_;
  const Op op_;
  const int lane_;
  Accumulator<T, Op> rows_[kReduceRows];
};

/// Folds in order the values of the first `threads` threads. Thread 0 returns the total. Every thread must call it.
template <class T, class Op>
__device__ __forceinline__ T fold_block(const Op& op, const T& value, int threads, T* memory) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int lanes = threads - warp * 32;
  const T total = fold_lanes(op, value, lane, lanes < 32 ? lanes : 32);
  if (lane == 0) memory[warp] = total;
  __syncthreads();
  const int warps = (threads + 31) / 32;
  return fold_lanes(op, memory[lane < warps ? lane : 0], lane, warps);
}

template <class Problem>
__host__ __device__ constexpr int reduce_blocks(std::int64_t n) {
  const std::int64_t blocks = (n + Problem::kChunk - 1) / Problem::kChunk / kReduceWarps;
  if (blocks < 1) return 1;
  return blocks < kReduceBlocks ? static_cast<int>(blocks) : kReduceBlocks;
}

template <class Problem>
static __global__ void __launch_bounds__(kReduceThreads, tuning::kReduce.resident)
    reduce_all(const __grid_constant__ DeviceReduce<Problem> call) {
  using T = typename Problem::T;
  __shared__ alignas(kElementAlignment) unsigned char memory[kReduceWarps * sizeof(T)];
  __shared__ bool is_last;
  T* const warp_totals = reinterpret_cast<T*>(memory);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto op = call.op;

  // ---- The warp's work unit, in chunks. Except in a single block, there is at least one chunk per warp. If the
  // length is in device memory, some blocks may get no chunk; they exit. So the fold equals the fold for the same
  // length on the host.
  const std::int64_t n = length_at(call.n_at, call.n);
  const int blocks = call.n_at == nullptr ? static_cast<int>(gridDim.x) : reduce_blocks<Problem>(n);
  if (static_cast<int>(blockIdx.x) >= blocks) return;
  const std::int64_t chunks = (n + Problem::kChunk - 1) / Problem::kChunk;
  const std::int64_t workers = std::int64_t{blocks} * kReduceWarps;
  const std::int64_t worker = std::int64_t{blockIdx.x} * kReduceWarps + warp;
  const auto begin_of = [&](std::int64_t w) {
    const std::int64_t chunk = chunks / workers * w + (w < chunks % workers ? w : chunks % workers);
    return chunk * Problem::kChunk < n ? chunk * Problem::kChunk : n;
  };
  const auto total = WarpReduce<Problem>(call, lane).run(begin_of(worker), begin_of(worker + 1));
  const int working = chunks < kReduceWarps ? static_cast<int>(chunks) : kReduceWarps;
  if (lane == 0 && warp < working) warp_totals[warp] = total.total;
  __syncthreads();
  T block_total{};
  if (working > 0) block_total = fold_lanes(op, warp_totals[lane < working ? lane : 0], lane, working);

  // ---- The result, by the last block that ends.
  const auto finish = [&](const T& all, bool any) {
    const T init = call.init_at != nullptr ? *call.init_at : call.init;
    if (!any) {
      *call.out = init;
    } else {
      *call.out = call.has_init ? op(init, all) : all;
    }
  };
  if (blocks == 1) {
    if (threadIdx.x == 0) finish(block_total, working > 0);
    return;
  }
  if (threadIdx.x == 0) {
    call.totals[blockIdx.x] = block_total;
    __threadfence();
    is_last = atomicAdd(&call.control->done, 1U) == static_cast<unsigned>(blocks) - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  const int per_thread = (blocks + kReduceThreads - 1) / kReduceThreads;
  const int threads = (blocks + per_thread - 1) / per_thread;  // that have a total
  const int first = static_cast<int>(threadIdx.x) * per_thread;
  T mine{};
  if (first < blocks) mine = call.totals[first];
  for (int i = first + 1; i < first + per_thread && i < blocks; ++i) mine = op(mine, call.totals[i]);
  const T all = fold_block(op, mine, threads, warp_totals);
  if (threadIdx.x == 0) {
    finish(all, true);
    call.control->done = 0;
  }
}

template <class Problem>
WorkspaceSize reduce_bytes(std::int64_t n) {
  const int blocks = reduce_blocks<Problem>(n);
  if (blocks == 1) return {};
  return {.kept = sizeof(Control), .scratch = blocks * std::int64_t{sizeof(typename Problem::T)}};
}

/// Runs an erased call as a reduction of In into T with `op`. n may be any length, also 0. Static: see tile_pipeline.
template <class In, class T, class Op, bool kCompiled>
static Status run_reduce(const upsweep::detail::ReduceCall& call, const Op& op) noexcept {
  using Problem = ReduceProblem<In, T, Op, kCompiled>;
  const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
  const Launch& launch = *call.launch;
  const DeviceReduce<Problem> reduce{.in = static_cast<const In*>(call.in),
                                     .n = call.n,
                                     .out = static_cast<T*>(call.out),
                                     .init = carry.total,
                                     .init_at = static_cast<const T*>(call.init_at),
                                     .n_at = call.n_at,
                                     .has_init = carry.any,
                                     .vectors = reinterpret_cast<std::uintptr_t>(call.in) % 16 == 0,
                                     .control = static_cast<Control*>(launch.kept),
                                     .totals = static_cast<T*>(launch.scratch),
                                     .op = op};
  const auto blocks = static_cast<unsigned>(reduce_blocks<Problem>(call.n));
  return status_of(detail::launch({.blocks = blocks, .threads = kReduceThreads, .stream = launch.stream},
                                  reduce_all<Problem>, reduce));
}

}  // namespace upsweep::gpu::detail
