// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/shard_scan.cuh: a scan of an array in shards, one on each of several devices: two reads, one write.
//
// A device publishes the aggregates of its tiles, folds them in rows onto what the rows of earlier shards come to, which is what
// goes from device to device, and scans its tiles with both at hand. Rows are folded as look-ahead folds them (tile_pipeline.cuh):
// where all shards but the last are whole rows of tiles, floats have the bits that they have on one device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "upsweep/detail/device_reduce.cuh"
#include "upsweep/detail/device_scan.cuh"
#include "upsweep/detail/shard_call.hpp"

namespace upsweep::gpu::detail {

/// A scan's Problem for a phase of a shard.
template <class Base, ShardPhase phase>
struct ShardOf : Base {
  static constexpr ShardPhase kShardPhase = phase;
  const RowsBefore<typename Base::T>* before;  ///< in the device's memory
};

/// Tiles of a row: shards that are whole rows leave the order of folds as it is on one device.
template <class T>
inline constexpr int kRowTiles = 32 * Tagged<T>::kValues;

/// Elements of a row of tiles.
template <class Problem>
inline constexpr std::int64_t kShardRow = std::int64_t{kRowTiles<typename Problem::T>} * Shape<Problem>::kTile;

/// Bytes of workspace of a shard of any length: where it is short, too, its tiles are published.
template <class Problem>
constexpr std::int64_t shard_workspace_bytes(std::int64_t n) {
  return std::int64_t{sizeof(Control)} + (tiles_of<Problem>(n) + 2) * kTaggedWords<typename Problem::T> * 8;
}

inline constexpr int kRowWarps = 32;  // of the block that folds rows
/// Rows that each of them loads at a time: 32 KB of shared memory in all.
template <class T>
inline constexpr int kWarpRows = sizeof(T) <= 4   ? 8
                                 : sizeof(T) <= 8 ? 4
                                                  : 1;

/// The elements of a shard's last tile, which is not whole, from `first` on: the value is thread 0's. Every thread calls.
template <class Problem>
__device__ __forceinline__ typename Problem::T fold_rest(const DeviceScan<Problem>& call, std::int64_t first,
                                                         typename Problem::T* memory) {
  using T = typename Problem::T;
  const auto op = call.problem.op;
  const auto item = [&](std::int64_t i) {
    if constexpr (Problem::kInputs == 1) {
      return static_cast<T>(call.in[0][i]);
    } else {
      return call.problem.item(call.in[0][i], call.in[1][i]);
    }
  };
  const int rest = static_cast<int>(call.n - first);
  const int each = (rest + 32 * kRowWarps - 1) / (32 * kRowWarps);
  const int begin = static_cast<int>(threadIdx.x) * each;
  T own{};
  if (begin < rest) own = item(first + begin);
  for (int i = begin + 1; i < begin + each && i < rest; ++i) own = op(own, item(first + i));
  return fold_block(op, own, (rest + each - 1) / each, memory);
}

/// What the rows of all shards up to this one come to. One block: its warps load rows, the first one folds them in order, while
/// the next ones are on their way.
template <class Problem>
static __global__ void __launch_bounds__(32 * kRowWarps)
    fold_rows(const __grid_constant__ DeviceScan<Problem> call, RowsBefore<typename Problem::T>* after) {
  using T = typename Problem::T;
  using Slot = Tagged<T>;
  constexpr int kEach = kWarpRows<T>;
  constexpr int kRows = kRowWarps * kEach;
  constexpr int kKept = Problem::kCommutes ? 32 : 1;  // lanes of a row
  __shared__ alignas(kElementAlignment) unsigned char memory[kRows * kKept * sizeof(T)];
  __shared__ alignas(kElementAlignment) unsigned char rest_memory[(kRowWarps + 1) * sizeof(T)];
  T(*const rows)[kKept] = reinterpret_cast<T(*)[kKept]>(memory);
  T& rest = reinterpret_cast<T*>(rest_memory)[kRowWarps];
  const auto op = call.problem.op;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned tag = tag_of(call.workspace);
  const std::int64_t whole = call.n / Shape<Problem>::kTile;
  const std::int64_t tiles = tiles_of<Problem>(call.n);
  if (whole < tiles) {
    const T folded = fold_rest(call, whole * Shape<Problem>::kTile, reinterpret_cast<T*>(rest_memory));
    if (threadIdx.x == 0) rest = folded;
    __syncthreads();
  }
  const auto lanes_of = [&](std::int64_t row) {
    const std::int64_t lanes = (tiles - row * kRowTiles<T> + Slot::kValues - 1) / Slot::kValues;
    return lanes < 0 ? 0 : lanes < 32 ? static_cast<int>(lanes) : 32;
  };
  const auto load = [&](std::int64_t first, T(&values)[kEach]) {
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const std::int64_t row = first + warp * kEach + r;
      const std::int64_t tile = row * kRowTiles<T> + lane * Slot::kValues;
      if (tile >= tiles) continue;
      Slot slot;
      slot.load(call.workspace.words, row * 32 + lane);
      if (!slot.is_there(tag, whole - tile)) __trap();  // the launch before has published all whole tiles
      values[r] = tile < whole ? slot.value(0) : rest;
      if (Slot::kValues == 2 && tile + 1 < tiles) values[r] = op(values[r], tile + 1 < whole ? slot.value(1) : rest);
    }
  };
  const auto put = [&](std::int64_t first, T(&values)[kEach]) {
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const int row = warp * kEach + r;
      if constexpr (Problem::kCommutes) {
        rows[row][lane] = values[r];
      } else {
        const int lanes = lanes_of(first + row);
        if (lanes == 0) continue;
        const T folded = fold_lanes(op, values[r], lane, lanes);
        if (lane == 0) rows[row][0] = folded;
      }
    }
  };

  const RowsBefore<T>* const before = call.problem.before;
  int count = before->count;
  T total{};
  if (lane < count) total = before->lanes[lane];
  const auto join = [&](int row, int lanes) {
    if (lane < lanes) total = lane < count ? op(total, rows[row][lane]) : rows[row][lane];
    count = count > lanes ? count : lanes;
  };
  T values[kEach] = {};
  load(0, values);
  for (std::int64_t first = 0; lanes_of(first) > 0; first += kRows) {
    put(first, values);
    __syncthreads();
    load(first + kRows, values);
    const int lanes_of_whole = Problem::kCommutes ? 32 : 1;
    const std::int64_t left = tiles / kRowTiles<T> - first;  // whole rows
    const int count_of_whole = left < kRows ? static_cast<int>(left) : kRows;
    if (warp == 0) {
      if (count_of_whole > 0) join(0, lanes_of_whole);
      if (lane < lanes_of_whole) {
#pragma unroll 16
        for (int row = 1; row < count_of_whole; ++row) total = op(total, rows[row][lane]);
      }
      const int lanes = count_of_whole < kRows ? lanes_of(first + count_of_whole) : 0;
      if (lanes > 0) join(count_of_whole, Problem::kCommutes ? lanes : 1);
    }
    __syncthreads();
  }
  if (warp != 0) return;
  after->lanes[lane] = total;
  if (lane == 0) after->count = count;
}

template <class In, class T, class Op, bool kCompiled, ShardPhase phase>
auto device_shard_of(const upsweep::detail::ScanCall& call, const Op& op, const upsweep::detail::ShardStep& step) {
  using Base = ScanProblem<In, T, Op, kCompiled>;
  static_assert(sizeof(RowsBefore<T>) <= upsweep::detail::kRowsBytes);
  const auto whole = device_scan_of<In, T, Op, kCompiled>(call, op);
  // Of a last tile that is not whole only what is there counts for later shards: who folds rows folds that, too.
  constexpr bool kWholeTiles = phase == ShardPhase::totals;
  constexpr std::int64_t kTile = Shape<ShardOf<Base, phase>>::kTile;
  return DeviceScan<ShardOf<Base, phase>>{.in = {whole.in[0]},
                                          .out = whole.out,
                                          .n = kWholeTiles ? whole.n / kTile * kTile : whole.n,
                                          .workspace = whole.workspace,
                                          .init = whole.init,
                                          .has_init = whole.has_init,
                                          .exclusive = whole.exclusive,
                                          .problem = {{op}, static_cast<const RowsBefore<T>*>(step.before)}};
}

template <class Problem>
static Status launch_tiles(const DeviceScan<Problem>& shard, const Launch& launch) noexcept {
  if (shard.n == 0) return {};
  return status_of(launch_pipeline<Problem>(tile_pipeline<Problem>, shard.n, launch.device, launch.multiprocessors,
                                            launch.stream, shard));
}

/// A step of a shard; but to fold, it has an element at least.
template <class In, class T, class Op, bool kCompiled>
static Status run_shard(const upsweep::detail::ScanCall& call, const Op& op,
                        const upsweep::detail::ShardStep& step) noexcept {
  using Kind = upsweep::detail::ShardStep::Kind;
  if (step.kind == Kind::publish) {
    return launch_tiles(device_shard_of<In, T, Op, kCompiled, ShardPhase::totals>(call, op, step), *call.launch);
  }
  const auto shard = device_shard_of<In, T, Op, kCompiled, ShardPhase::scan>(call, op, step);
  if (step.kind == Kind::scan) return launch_tiles(shard, *call.launch);
  using Problem = std::remove_cvref_t<decltype(shard.problem)>;
  const Grid block{.blocks = 1, .threads = 32 * kRowWarps, .stream = call.launch->stream};
  return status_of(launch(block, fold_rows<Problem>, shard, static_cast<RowsBefore<T>*>(step.after)));
}

}  // namespace upsweep::gpu::detail
