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
inline constexpr int kWarpRows = sizeof(T) <= 8 ? 4 : 1;

/// What the rows of all shards up to this one come to. One block: its warps load rows, the first one folds them in order.
template <class Problem>
static __global__ void __launch_bounds__(32 * kRowWarps)
    fold_rows(const __grid_constant__ DeviceScan<Problem> call, RowsBefore<typename Problem::T>* after) {
  using T = typename Problem::T;
  using Slot = Tagged<T>;
  constexpr int kRows = kRowWarps * kWarpRows<T>;
  __shared__ alignas(16) unsigned char memory[kRows * (Problem::kCommutes ? 32 : 1) * sizeof(T)];
  T(*const rows)[Problem::kCommutes ? 32 : 1] = reinterpret_cast<T(*)[Problem::kCommutes ? 32 : 1]>(memory);
  const auto op = call.problem.op;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned tag = tag_of(call.workspace);
  const std::int64_t tiles = tiles_of<Problem>(call.n);
  const RowsBefore<T>* const before = call.problem.before;
  int count = before->count;
  T total{};
  if (lane < count) total = before->lanes[lane];
  for (std::int64_t first = 0; first * kRowTiles<T> < tiles; first += kRows) {
    const std::int64_t left = tiles - first * kRowTiles<T>;
    const auto lanes_of = [&](int row) {
      const std::int64_t values = left - std::int64_t{row} * kRowTiles<T>;
      const std::int64_t lanes = (values + Slot::kValues - 1) / Slot::kValues;
      return lanes < 0 ? 0 : lanes < 32 ? static_cast<int>(lanes) : 32;
    };
#pragma unroll
    for (int r = 0; r < kWarpRows<T>; ++r) {
      const int row = warp * kWarpRows<T> + r;
      const int lanes = lanes_of(row);
      if (lanes == 0) continue;
      Slot slot;
      T value{};
      if (lane < lanes) {
        slot.load(call.workspace.words, (first + row) * 32 + lane);
        if (!slot.is_there(tag, 1)) __trap();  // the launch before has published all of them
        value = slot.value(0);
        if (Slot::kValues == 2 && left - std::int64_t{row} * kRowTiles<T> - lane * Slot::kValues > 1) {
          value = op(value, slot.value(1));
        }
      }
      if constexpr (Problem::kCommutes) {
        if (lane < lanes) rows[row][lane] = value;
      } else {
        value = fold_lanes(op, value, lane, lanes);
        if (lane == 0) rows[row][0] = value;
      }
    }
    __syncthreads();
    if (warp == 0) {
      for (int row = 0; row < kRows && lanes_of(row) > 0; ++row) {
        const int lanes = Problem::kCommutes ? lanes_of(row) : 1;
        if (lane < lanes) total = lane < count ? op(total, rows[row][lane]) : rows[row][lane];
        count = count > lanes ? count : lanes;
      }
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
  return DeviceScan<ShardOf<Base, phase>>{.in = {whole.in[0]},
                                          .out = whole.out,
                                          .n = whole.n,
                                          .workspace = whole.workspace,
                                          .init = whole.init,
                                          .has_init = whole.has_init,
                                          .exclusive = whole.exclusive,
                                          .problem = {{op}, static_cast<const RowsBefore<T>*>(step.before)}};
}

template <class Problem>
static Status launch_tiles(const DeviceScan<Problem>& shard, const Launch& launch) noexcept {
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
