// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/shard_scan.cuh: a scan of an array in shards, one on each of several devices: two reads, one write.
//
// A device publishes the aggregates of its tiles, folds them in rows onto what the rows of earlier shards come to, which is what
// goes from device to device, and scans its tiles with both at hand. Rows are folded as look-ahead folds them (tile_pipeline.cuh):
// where all shards but the last are whole rows of tiles, floats have the bits that they have on one device. Integers have the same
// bits however they are folded: there each device has only one value for all later ones, and does not wait for those before it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
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
/// Rows that are brought at a time: 20 KB of shared memory, while as many are folded.
template <class T>
inline constexpr int kRowsAtOnce = 20 * 1024 / (32 * int{sizeof(T)});

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

/// What the rows of all shards up to this one come to. One block: the first warp folds rows in order, lane by lane where the
/// operator commutes, while the others bring the next ones.
template <class Problem>
static __global__ void __launch_bounds__(32 * kRowWarps)
    fold_rows(const __grid_constant__ DeviceScan<Problem> call, RowsBefore<typename Problem::T>* after) {
  using T = typename Problem::T;
  using Slot = Tagged<T>;
  constexpr int kRows = kRowsAtOnce<T>;
  __shared__ alignas(kElementAlignment) unsigned char memory[2 * kRows * 32 * sizeof(T)];
  __shared__ alignas(kElementAlignment) unsigned char rest_memory[(kRowWarps + 1) * sizeof(T)];
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
  const auto rows = [&](std::int64_t chunk) { return reinterpret_cast<T(*)[32]>(memory) + (chunk % 2) * kRows; };
  const auto lanes_of = [&](std::int64_t row) {
    const std::int64_t lanes = (tiles - row * kRowTiles<T> + Slot::kValues - 1) / Slot::kValues;
    return lanes < 0 ? 0 : lanes < 32 ? static_cast<int>(lanes) : 32;
  };
  const auto bring = [&](std::int64_t chunk) {
    constexpr int kWarps = kRowWarps - 1;
#pragma unroll
    for (int r = 0; r < (kRows + kWarps - 1) / kWarps; ++r) {
      const int at = r * kWarps + warp - 1;
      const std::int64_t row = chunk * kRows + at;
      const int lanes = at < kRows ? lanes_of(row) : 0;
      if (lanes == 0) continue;
      T value{};
      if (lane < lanes) {
        const std::int64_t tile = row * kRowTiles<T> + lane * Slot::kValues;
        Slot slot;
        slot.load(call.workspace.words, row * 32 + lane);
        if (!slot.is_there(tag, whole - tile)) __trap();  // the launch before has published all whole tiles
        value = tile < whole ? slot.value(0) : rest;
        if (Slot::kValues == 2 && tile + 1 < tiles) value = op(value, tile + 1 < whole ? slot.value(1) : rest);
      }
      if constexpr (!Problem::kCommutes) value = fold_lanes(op, value, lane, lanes);
      rows(chunk)[at][lane] = value;
    }
  };

  const RowsBefore<T>* const before = call.problem.before;
  int count = before->count;
  T total{};
  if (lane < count) total = before->lanes[lane];
  const auto fold = [&](std::int64_t chunk) {
    const auto join = [&](int row, int lanes) {
      if (!Problem::kCommutes) lanes = lanes > 0 ? 1 : 0;
      if (lane < lanes) total = lane < count ? op(total, rows(chunk)[row][lane]) : rows(chunk)[row][lane];
      count = count > lanes ? count : lanes;
    };
    const std::int64_t left = tiles / kRowTiles<T> - chunk * kRows;
    const int whole_rows = left < kRows ? static_cast<int>(left) : kRows;
    if (whole_rows > 0) join(0, 32);
    if (lane < count) {
#pragma unroll 16
      for (int row = 1; row < whole_rows; ++row) total = op(total, rows(chunk)[row][lane]);
    }
    if (whole_rows < kRows) join(whole_rows, lanes_of(chunk * kRows + whole_rows));
  };
  if (warp > 0) bring(0);
  __syncthreads();
  for (std::int64_t chunk = 0; lanes_of(chunk * kRows) > 0; ++chunk) {
    if (warp > 0) {
      bring(chunk + 1);
    } else {
      fold(chunk);
    }
    __syncthreads();
  }
  if (warp != 0) return;
  after->lanes[lane] = total;
  if (lane == 0) after->count = count;
}

/// `before` of the shards after one, and which one that is.
template <class T>
struct LaterShards {
  RowsBefore<T>* before[upsweep::detail::kMostSharing];
  int count;
  int shard;
  T identity;  ///< of a shard without elements
};
static_assert(upsweep::detail::kMostSharing <= 32, "RowsBefore has a lane for each");

/// What a shard comes to, into its lane of all later ones. One block. The operator may be applied in any order.
template <class Problem>
static __global__ void __launch_bounds__(32 * kRowWarps)
    share_value(const __grid_constant__ DeviceScan<Problem> call,
                const __grid_constant__ LaterShards<typename Problem::T> later) {
  using T = typename Problem::T;
  using Slot = Tagged<T>;
  constexpr int kThreads = 32 * kRowWarps;
  constexpr int kLoads = 4;  // in flight
  __shared__ T memory[kRowWarps];
  const auto op = call.problem.op;
  const int thread = static_cast<int>(threadIdx.x);
  const unsigned tag = tag_of(call.workspace);
  const std::int64_t whole = call.n / Shape<Problem>::kTile;
  const std::int64_t slots = (whole + Slot::kValues - 1) / Slot::kValues;
  T own = later.identity;
  for (std::int64_t first = thread; first < slots; first += kLoads * kThreads) {
    Slot slot[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      if (first + u * kThreads < slots) slot[u].load(call.workspace.words, first + u * kThreads);
    }
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      const std::int64_t tile = (first + u * kThreads) * Slot::kValues;
      if (tile >= whole) continue;
      if (!slot[u].is_there(tag, whole - tile)) __trap();  // the launch before has published all whole tiles
      own = op(own, slot[u].value(0));
      if (Slot::kValues == 2 && tile + 1 < whole) own = op(own, slot[u].value(1));
    }
  }
  for (std::int64_t i = whole * Shape<Problem>::kTile + thread; i < call.n; i += kThreads) {
    own = op(own, static_cast<T>(call.in[0][i]));
  }
  const T total = fold_block(op, own, kThreads, memory);
  if (thread != 0) return;
  for (int i = 0; i < later.count; ++i) {
    later.before[i]->lanes[later.shard] = total;
    later.before[i]->count = later.shard + 1 + i;  // all earlier shards say the same
  }
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
                                          .init_at = whole.init_at,
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

/// A step of a shard; but to fold and to share, it has an element at least.
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
  if constexpr (kCompiled && std::is_integral_v<T>) {
    if (step.kind == Kind::share) {
      LaterShards<T> later{.before = {},
                           .count = static_cast<int>(step.later.size()),
                           .shard = step.shard,
                           .identity = Op::template identity<T>()};
      for (std::size_t i = 0; i < step.later.size(); ++i) later.before[i] = static_cast<RowsBefore<T>*>(step.later[i]);
      return status_of(launch(block, share_value<Problem>, shard, later));
    }
  }
  return status_of(launch(block, fold_rows<Problem>, shard, static_cast<RowsBefore<T>*>(step.after)));
}

}  // namespace upsweep::gpu::detail
