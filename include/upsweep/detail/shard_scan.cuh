// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/shard_scan.cuh: a scan of an array in shards, one on each of several devices: two reads, one write.
//
// A device publishes the aggregates of its tiles and folds these group by group, all groups at the same time. It then
// folds the groups of all earlier shards in order, from the memory of other devices, and scans its tiles after that
// prefix. Both folds are those of look-ahead (tile_pipeline.cuh). If all shards except the last consist of whole
// groups, floats have the same bits as on one device. A device waits for another device only once, for its groups.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "upsweep/detail/device_reduce.cuh"
#include "upsweep/detail/device_scan.cuh"
#include "upsweep/detail/shard_call.hpp"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/detail/tuning/shards.hpp"

namespace upsweep::gpu::detail {

/// A scan's Problem in one phase of a shard.
template <class Base, ShardPhase phase>
struct ShardOf : Base {
  static constexpr ShardPhase kShardPhase = phase;
  const RowsBefore<typename Base::T>* before;  ///< in the device's memory; null: nothing precedes the shard
};

/// Elements of a group of tiles if groups change the result, otherwise of a row. Shards whose lengths are multiples of
/// this number are folded in the same order as one array.
template <class Problem>
inline constexpr std::int64_t kShardBlock =
    std::int64_t{kFoldsGroups<Problem> ? kGroupTiles : kRowTiles<typename Problem::T>} * Shape<Problem>::kTile;

/// Returns the bytes of workspace of a shard of any length. The tiles of a short shard are also published.
template <class Problem>
constexpr std::int64_t shard_workspace_bytes(std::int64_t n) {
  return std::int64_t{sizeof(Control)} + (tiles_of<Problem>(n) + 2) * kTaggedWords<typename Problem::T> * 8;
}

// ------------------------------------------------------------------------------------------------------------- groups

/// The folds of a shard's groups: its number of tiles, and, kValuesAt bytes later, the groups' values. A group has the
/// values of 32 lanes if the operator commutes, otherwise of one lane.
struct ShardGroups {
  std::int64_t tiles;

  static constexpr std::int64_t kValuesAt = 64;
};
template <class Problem>
inline constexpr int kGroupLanes = Problem::kCommutes ? 32 : 1;
__host__ __device__ constexpr std::int64_t groups_of(std::int64_t tiles) {
  return (tiles + kGroupTiles - 1) / kGroupTiles;
}
template <class Problem>
constexpr std::int64_t groups_bytes(std::int64_t n) {
  using T = typename Problem::T;
  static_assert(alignof(T) <= ShardGroups::kValuesAt);
  return ShardGroups::kValuesAt + groups_of(tiles_of<Problem>(n)) * kGroupLanes<Problem> * std::int64_t{sizeof(T)};
}
template <class T>
__device__ __forceinline__ T* values_of(void* groups) {
  return reinterpret_cast<T*>(static_cast<char*>(groups) + ShardGroups::kValuesAt);
}
template <class T>
__device__ __forceinline__ const T* values_of(const void* groups) {
  return reinterpret_cast<const T*>(static_cast<const char*>(groups) + ShardGroups::kValuesAt);
}
/// Returns the number of lanes with values in a row. `tiles` is the number of tiles from the row's first tile on.
template <class T>
__device__ __forceinline__ int lanes_of_row(std::int64_t tiles) {
  const std::int64_t lanes = (tiles + Tagged<T>::kValues - 1) / Tagged<T>::kValues;
  return lanes < 0 ? 0 : lanes < 32 ? static_cast<int>(lanes) : 32;
}

inline constexpr int kGroupWarps = tuning::kShardsOrder.group_warps;

/// Folds the elements of a shard's last, partial tile, from `first` on. Thread 0 returns the value. Every thread of the
/// block must call it.
template <class Problem>
__device__ __forceinline__ typename Problem::T fold_rest(const DeviceScan<Problem>& call, std::int64_t first,
                                                         typename Problem::T* memory) {
  using T = typename Problem::T;
  constexpr int kThreads = 32 * kGroupWarps;
  const auto op = call.problem.op;
  const auto item = [&](std::int64_t i) { return static_cast<T>(call.in[0][i]); };
  const int rest = static_cast<int>(call.length() - first);
  const int each = (rest + kThreads - 1) / kThreads;
  const int begin = static_cast<int>(threadIdx.x) * each;
  T own{};
  if (begin < rest) own = item(first + begin);
  for (int i = begin + 1; i < begin + each && i < rest; ++i) own = op(own, item(first + i));
  return fold_block(op, own, (rest + each - 1) / each, memory);
}

/// Folds each group of tiles by one warp. The previous launch has published the aggregates, except that of a last
/// partial tile.
template <class Problem>
static __global__ void __launch_bounds__(32 * kGroupWarps)
    fold_groups(const __grid_constant__ DeviceScan<Problem> call, void* groups) {
  using T = typename Problem::T;
  using Slot = Tagged<T>;
  constexpr int kRows = kGroupRows<T>;
  __shared__ alignas(kElementAlignment) unsigned char memory[(kGroupWarps + 1) * sizeof(T)];
  const auto op = call.problem.op;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned tag = tag_of(call.workspace);
  const std::int64_t n = call.length();
  const std::int64_t whole = n / Shape<Problem>::kTile;
  const std::int64_t tiles = tiles_of<Problem>(n);
  const std::int64_t group = std::int64_t{blockIdx.x} * kGroupWarps + warp;
  const std::int64_t first = group * kGroupTiles;
  T rest{};
  if (whole < tiles && whole / kGroupTiles / kGroupWarps == blockIdx.x) {
    T* const folds = reinterpret_cast<T*>(memory);
    const T folded = fold_rest(call, whole * Shape<Problem>::kTile, folds);
    if (threadIdx.x == 0) folds[kGroupWarps] = folded;
    __syncthreads();
    rest = folds[kGroupWarps];
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) static_cast<ShardGroups*>(groups)->tiles = tiles;
  if (first >= tiles) return;
  Slot slots[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t tile = first + r * kRowTiles<T> + lane * Slot::kValues;
    if (tile < whole) slots[r].load(call.workspace.words, tile / Slot::kValues);
  }
  T total{};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first + r * kRowTiles<T>;
    const std::int64_t tile = row + lane * Slot::kValues;
    const int lanes = lanes_of_row<T>(tiles - row);
    if (lanes == 0) break;
    T value = rest;
    if (tile < whole) {
      if (!slots[r].is_there(tag, whole - tile)) __trap();  // the previous launch has published all whole tiles
      value = slots[r].value(0);
    }
    if (Slot::kValues == 2 && tile + 1 < tiles) value = op(value, tile + 1 < whole ? slots[r].value(1) : rest);
    if constexpr (!Problem::kCommutes) value = fold_lanes(op, value, lane, lanes);
    if (lane < (Problem::kCommutes ? lanes : 1)) total = r > 0 ? op(total, value) : value;
  }
  constexpr int kLanes = kGroupLanes<Problem>;
  if (lane < (Problem::kCommutes ? lanes_of_row<T>(tiles - first) : 1)) {
    values_of<T>(groups)[group * kLanes + lane] = total;
  }
}

// ------------------------------------------------------------------------------------------------------ earlier shards

/// Groups of shards, in order, in memory that the device can access.
struct EarlierShards {
  static constexpr int kMost = tuning::kShards.most_shards;
  const void* groups[kMost];
  int count;
};

inline constexpr int kChainWarps = tuning::kShards.chain_warps;
template <class Problem>
inline constexpr int kGroupBytes = kGroupLanes<Problem> * int{sizeof(typename Problem::T)};
/// Groups that are loaded at a time.
template <class Problem>
inline constexpr int kGroupsAtOnce =
    std::min(tuning::kShards.most_groups, tuning::kShards.group_bytes / kGroupBytes<Problem>);
/// Two chunks of groups in shared memory: one is folded while the other is loaded.
template <class Problem>
struct ChainChunks {
  typename Problem::T* rows;
  unsigned char* lanes;  ///< the number of lanes with a value, for each group

  __host__ __device__ explicit ChainChunks(SharedArrays& memory)
      : rows(memory.take<typename Problem::T>(2 * kGroupsAtOnce<Problem> * kGroupLanes<Problem>)),
        lanes(memory.take<unsigned char>(2 * kGroupsAtOnce<Problem>)) {}
};

/// The groups of earlier shards as one sequence.
struct GroupSequence {
  std::int64_t first[EarlierShards::kMost + 1];  ///< the first group of each shard; last, the number of all groups
  std::int64_t tiles[EarlierShards::kMost];

  /// Computes both. One warp calls it.
  __device__ __forceinline__ void find(const EarlierShards& shards, int lane) {
    const std::int64_t here = lane < shards.count ? static_cast<const ShardGroups*>(shards.groups[lane])->tiles : 0;
    std::int64_t end = groups_of(here);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::int64_t left = __shfl_up_sync(kAllLanes, static_cast<long long>(end), step);
      if (lane >= step) end += left;
    }
    tiles[lane] = here;
    first[lane + 1] = end;
    if (lane == 0) first[0] = 0;
  }
};

/// Computes the fold of a member's predecessors: `before`, and the groups of shards.
template <class Problem>
class GroupChain {
  using T = typename Problem::T;
  static constexpr int kLanes = kGroupLanes<Problem>;
  static constexpr int kGroups = kGroupsAtOnce<Problem>;
  static constexpr int kBringing = kChainWarps - 1;
  static constexpr int kPerWarp = 32 / kLanes;  ///< groups that a warp loads with one access
  static constexpr int kEach = (kGroups + kBringing * kPerWarp - 1) / (kBringing * kPerWarp);

 public:
  __device__ __forceinline__ GroupChain(const Problem& problem, const EarlierShards& shards,
                                        const GroupSequence& sequence, const ChainChunks<Problem>& chunks)
      : op_(problem.op),
        shards_(shards),
        sequence_(sequence),
        rows_(chunks.rows),
        lanes_(chunks.lanes),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  /// Every thread of the block must call it. The first warp has the result.
  __device__ __forceinline__ void run(const RowsBefore<T>* before) {
    if (before != nullptr) count_ = before->count;
    if (lane_ < count_) total_ = before->lanes[lane_];
    const std::int64_t all = sequence_.first[shards_.count];
    if (all == 0) return;
    if (warp_ > 0) {
      load(0);
      put(0);
      load(1);
    }
    __syncthreads();
    for (std::int64_t chunk = 0; chunk * kGroups < all; ++chunk) {
      if (warp_ > 0) {
        put(chunk + 1);
        load(chunk + 2);
      } else {
        const std::int64_t left = all - chunk * kGroups;
        fold(chunk, left < kGroups ? static_cast<int>(left) : kGroups);
      }
      __syncthreads();
    }
  }
  __device__ __forceinline__ void write(RowsBefore<T>* after) const {
    after->lanes[lane_] = total_;
    if (lane_ == 0) after->count = count_;
  }

 private:
  [[nodiscard]] __device__ __forceinline__ int place_of(int u) const {
    return (u * kBringing + warp_ - 1) * kPerWarp + lane_ / kLanes;
  }
  /// All loads are unconditional, also past the last group and past its lanes, so that no load waits for another.
  __device__ __forceinline__ void load(std::int64_t chunk) {
    const std::int64_t last = sequence_.first[shards_.count] - 1;
#pragma unroll
    for (int u = 0; u < kEach; ++u) {
      const std::int64_t wanted = chunk * kGroups + place_of(u);
      const std::int64_t group = wanted < last ? wanted : last;
      int shard = 0;
      while (group >= sequence_.first[shard + 1]) ++shard;
      const std::int64_t own = group - sequence_.first[shard];
      held_lanes_[u] = Problem::kCommutes ? lanes_of_row<T>(sequence_.tiles[shard] - own * kGroupTiles) : 1;
      held_[u] = values_of<T>(shards_.groups[shard])[own * kLanes + lane_ % kLanes];
    }
  }
  __device__ __forceinline__ void put(std::int64_t chunk) const {
    const int begin = static_cast<int>(chunk % 2) * kGroups;
#pragma unroll
    for (int u = 0; u < kEach; ++u) {
      if (place_of(u) >= kGroups) continue;
      const int lane = lane_ % kLanes;
      rows_[(begin + place_of(u)) * kLanes + lane] = held_[u];
      if (lane == 0) lanes_[begin + place_of(u)] = static_cast<unsigned char>(held_lanes_[u]);
    }
  }

  /// Folds a chunk. The first warp calls it.
  __device__ __forceinline__ void fold(std::int64_t chunk, int groups) {
    const int begin = static_cast<int>(chunk % 2) * kGroups;
    for (int g = 0; g < groups;) {
      const int whole = count_ == kLanes ? whole_from(begin, g, groups) : 0;
      if (lane_ < kLanes) {
        const T* const row = rows_ + (begin + g) * kLanes + lane_;
#pragma unroll 16
        for (int i = 0; i < whole; ++i) total_ = op_(total_, row[i * kLanes]);
      }
      g += whole;
      if (g == groups) return;
      const int lanes = lanes_[begin + g];
      const T value = rows_[(begin + g) * kLanes + lane_ % kLanes];
      if (lane_ < lanes) total_ = lane_ < count_ ? op_(total_, value) : value;
      count_ = count_ > lanes ? count_ : lanes;
      ++g;
    }
  }
  /// Returns the number of consecutive groups, starting at g, that have a value on all lanes.
  [[nodiscard]] __device__ __forceinline__ int whole_from(int begin, int g, int groups) const {
    for (int i = g; i < groups; i += 32) {
      const bool is_whole = i + lane_ < groups && lanes_[begin + i + lane_] == kLanes;
      const unsigned all = __ballot_sync(kAllLanes, is_whole);
      if (all != kAllLanes) return i - g + __ffs(static_cast<int>(~all)) - 1;
    }
    return groups - g;
  }

  const typename Problem::Op op_;
  const EarlierShards& shards_;
  const GroupSequence& sequence_;
  T* const rows_;
  unsigned char* const lanes_;
  const int warp_;
  const int lane_;
  T held_[kEach]{};
  int held_lanes_[kEach]{};
  T total_{};
  int count_ = 0;  ///< lanes that have a value
};

/// Folds the groups of shards in one block. `after` may be equal to problem.before, which precedes the groups.
template <class Problem>
static __global__ void __launch_bounds__(32 * kChainWarps)
    fold_shards(const __grid_constant__ Problem problem, const __grid_constant__ EarlierShards shards,
                RowsBefore<typename Problem::T>* after) {
  extern __shared__ __align__(128) char shared[];
  __shared__ GroupSequence sequence;
  if (threadIdx.x < 32) sequence.find(shards, static_cast<int>(threadIdx.x));
  __syncthreads();
  SharedArrays arrays(shared);
  GroupChain<Problem> chain(problem, shards, sequence, ChainChunks<Problem>(arrays));
  chain.run(problem.before);
  if (threadIdx.x < 32) chain.write(after);
}

// --------------------------------------------------------------------------------------------------------------- steps

template <class In, class T, class Op, bool kCompiled, ShardPhase phase>
auto device_shard_of(const upsweep::detail::ScanCall& call, const Op& op, const void* before) {
  using Base = ScanProblem<In, T, Op, kCompiled>;
  static_assert(sizeof(RowsBefore<T>) <= upsweep::detail::kRowsBytes);
  const auto whole = device_scan_of<In, T, Op, kCompiled>(call, op);
  return DeviceScan<ShardOf<Base, phase>>{.in = {whole.in[0]},
                                          .out = whole.out,
                                          .n = whole.n,
                                          .workspace = whole.workspace,
                                          .init = whole.init,
                                          .init_at = whole.init_at,
                                          .n_at = whole.n_at,
                                          .has_init = whole.has_init,
                                          .exclusive = whole.exclusive,
                                          .problem = {{op}, static_cast<const RowsBefore<T>*>(before)}};
}

template <class Problem>
static cudaError_t launch_tiles(const DeviceScan<Problem>& shard, const Launch& launch) noexcept {
  return launch_pipeline<Problem>(tile_pipeline<Problem>, shard.n, launch.device, launch.multiprocessors, launch.stream,
                                  shard);
}

template <class Problem>
static cudaError_t launch_groups(const DeviceScan<Problem>& shard, void* groups, const Launch& launch_on) noexcept {
  const std::int64_t blocks = (groups_of(tiles_of<Problem>(shard.n)) + kGroupWarps - 1) / kGroupWarps;
  const Grid grid{.blocks = static_cast<unsigned>(std::max<std::int64_t>(blocks, 1)),
                  .threads = 32 * kGroupWarps,
                  .stream = launch_on.stream};
  return launch(grid, fold_groups<Problem>, shard, groups);
}

/// Folds the shards in launches of at most EarlierShards::kMost shards.
template <class Problem>
static cudaError_t launch_chain(const Problem& problem, const upsweep::detail::ShardStep& step,
                                const Launch& launch_on) noexcept {
  using T = typename Problem::T;
  Problem next = problem;
  auto* const after = static_cast<RowsBefore<T>*>(step.after);
  cudaError_t error = cudaSuccess;
  const Grid grid{.blocks = 1,
                  .threads = 32 * kChainWarps,
                  .stream = launch_on.stream,
                  .shared_bytes = shared_bytes_of<ChainChunks<Problem>>()};
  for (std::size_t first = 0; first < step.earlier.size() && error == cudaSuccess; first += EarlierShards::kMost) {
    EarlierShards shards{};
    const std::size_t some = std::min<std::size_t>(step.earlier.size() - first, EarlierShards::kMost);
    std::copy_n(step.earlier.begin() + static_cast<std::ptrdiff_t>(first), some, shards.groups);
    shards.count = static_cast<int>(some);
    error = launch_large<GroupChain<Problem>>(grid, launch_on.device, fold_shards<Problem>, next, shards, after);
    next.before = after;
  }
  return error;
}

/// Runs a step of a shard. Steps other than `groups` and `fold` have at least one element.
template <class In, class T, class Op, bool kCompiled>
static Status run_shard(const upsweep::detail::ScanCall& call, const Op& op,
                        const upsweep::detail::ShardStep& step) noexcept {
  using Kind = upsweep::detail::ShardStep::Kind;
  if (step.kind == Kind::publish) {
    const auto shard = device_shard_of<In, T, Op, kCompiled, ShardPhase::totals>(call, op, nullptr);
    using Problem = std::remove_cvref_t<decltype(shard.problem)>;
    return status_of(shard.n < Shape<Problem>::kTile ? cudaSuccess : launch_tiles(shard, *call.launch));
  }
  const auto shard = device_shard_of<In, T, Op, kCompiled, ShardPhase::scan>(call, op, step.before);
  if (step.kind == Kind::groups) return status_of(launch_groups(shard, step.after, *call.launch));
  if (step.kind == Kind::fold) return status_of(launch_chain(shard.problem, step, *call.launch));
  return status_of(launch_tiles(shard, *call.launch));
}

}  // namespace upsweep::gpu::detail
