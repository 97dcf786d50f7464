// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_reduce_lanes.cuh: cuda.lanes: kernels that fold each list by lanes whose number depends on
// its length, for any reducer; src/problems/lists/segmented_reduce/cuda_lanes.cu describes the algorithm.
#pragma once

#include <cstdint>

#include "upsweep/detail/segmented_reduce_lists.cuh"
#include "upsweep/detail/tuning/segmented_reduce.hpp"

namespace upsweep::impl::segmented_reduce {

// Lists of up to kLaneList elements are folded by a lane, up to kGroupList by eight lanes, up to kWarpList by a warp.
// Longer lists are folded by blocks in tiles of kListTile elements. Which threads fold a list, and in which order,
// depends only on its length.
inline constexpr std::int64_t kLaneList = gpu::tuning::kLanesOrder.lane_list;
inline constexpr std::int64_t kGroupList = gpu::tuning::kLanesOrder.group_list;
inline constexpr std::int64_t kWarpList = gpu::tuning::kLanesOrder.warp_list;
inline constexpr std::int64_t kListTile = gpu::tuning::kLanesOrder.list_tile;
inline constexpr int kLanesLoads = gpu::tuning::kLanesOrder.loads;
inline constexpr int kWarpLoads = gpu::tuning::kLanesOrder.warp_loads;

/// A tile of a long list, or the whole list if it has no slots.
struct ListTile {
  std::int64_t list;
  std::int64_t number;  ///< kWhole: the whole list
  std::int64_t slot;    ///< of the list's first tile
};
inline constexpr std::int64_t kWhole = -1;

/// The tiles of a call. Each tile of a list with several tiles has a slot for its fold.
struct ListTiles {
  unsigned long long* tile_count;  ///< may exceed the capacity if lists are bad
  unsigned long long* slot_count;
  ListTile* tiles;
  int* arrived;  ///< at a list's first slot: the number of its tiles that are folded
  char* slots;
  std::int64_t tile_capacity;
  std::int64_t slot_capacity;
};

inline constexpr std::int64_t kCountersBytes = 256;

/// Bytes of a slot, rounded up so that the data after the slots is also aligned.
template <class Value>
inline constexpr std::int64_t kSlotBytes = [] {
  constexpr std::int64_t kStep = alignof(Value) > 16 ? alignof(Value) : 16;
  return (std::int64_t{sizeof(Value)} + kStep - 1) / kStep * kStep;
}();

/// Computes the capacities. Consecutive lists have n elements together. Other lists may have any number of elements,
/// also lists between offsets that go back over null lists. For them each list has one tile for the whole list.
inline ListTiles list_tiles_for(const detail::SegmentedReduceCall& call) {
  ListTiles tiles{};
  tiles.slot_capacity = call.n / kListTile * 2 + 2;
  const std::int64_t most_long = call.n / kWarpList + 1;
  const std::int64_t lists = call.lists.count;
  const bool are_apart = call.lists.has_size || (call.lists.are_adjacent() && !call.lists.valid.is_given());
  tiles.tile_capacity = tiles.slot_capacity + (are_apart && lists > most_long ? most_long : lists);
  return tiles;
}
/// Returns the scratch bytes of a call whose folds take `slot_bytes` bytes per slot.
inline std::int64_t list_tiles_bytes(const detail::SegmentedReduceCall& call, std::int64_t slot_bytes) {
  const ListTiles tiles = list_tiles_for(call);
  return kCountersBytes + tiles.tile_capacity * std::int64_t{sizeof(ListTile)} + tiles.slot_capacity * (slot_bytes + 4);
}
inline ListTiles list_tiles_at(void* scratch, const detail::SegmentedReduceCall& call, std::int64_t slot_bytes) {
  ListTiles tiles = list_tiles_for(call);
  char* at = static_cast<char*>(scratch);
  tiles.tile_count = reinterpret_cast<unsigned long long*>(at);
  tiles.slot_count = tiles.tile_count + 1;
  tiles.slots = at + kCountersBytes;
  tiles.tiles = reinterpret_cast<ListTile*>(tiles.slots + tiles.slot_capacity * slot_bytes);
  tiles.arrived = reinterpret_cast<int*>(tiles.tiles + tiles.tile_capacity);
  return tiles;
}

inline constexpr int kLanesThreads = gpu::tuning::kLanesOrder.threads;

// ------------------------------------------------------------------------------------------------- tiles of long lists

__device__ inline std::int64_t tiles_in(std::int64_t length) { return (length + kListTile - 1) / kListTile; }

/// Adds the tiles of a list. A whole warp calls it, with the same list on every lane.
__device__ inline void add_tiles(const ListTiles& tiles, std::int64_t list, std::int64_t length) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t several = tiles_in(length);
  unsigned long long slot = 0;
  unsigned long long first = 0;
  bool has_slots = false;
  if (lane == 0) {
    if (several > 1) {
      slot = atomicAdd(tiles.slot_count, static_cast<unsigned long long>(several));
      has_slots =
          slot + static_cast<unsigned long long>(several) <= static_cast<unsigned long long>(tiles.slot_capacity);
      if (has_slots) tiles.arrived[slot] = 0;
    }
    first = atomicAdd(tiles.tile_count, static_cast<unsigned long long>(has_slots ? several : 1));
  }
  slot = __shfl_sync(gpu::detail::kAllLanes, slot, 0);
  first = __shfl_sync(gpu::detail::kAllLanes, first, 0);
  has_slots = __shfl_sync(gpu::detail::kAllLanes, has_slots ? 1 : 0, 0) != 0;
  const std::int64_t count = has_slots ? several : 1;
  for (std::int64_t k = lane; k < count; k += 32) {
    const std::int64_t at = static_cast<std::int64_t>(first) + k;
    // All tiles of valid lists fit.
    if (at < tiles.tile_capacity) tiles.tiles[at] = {list, has_slots ? k : kWhole, static_cast<std::int64_t>(slot)};
  }
}

template <class R>
__device__ typename R::Value fold_tile(const R& reducer, const Content<typename R::In>& content, const Extent& list,
                                       std::int64_t number, typename R::Value* memory) {
  const std::int64_t from = number * kListTile;
  const std::int64_t to = from + kListTile < list.length ? from + kListTile : list.length;
  if constexpr (kFoldsInOrder<R>) {
    constexpr std::int64_t kOfWarp = kListTile / (kLanesThreads / 32);
    const std::int64_t first = from + threadIdx.x / 32 * kOfWarp;
    const std::int64_t last = first + kOfWarp < to ? first + kOfWarp : to;
    return fold_warps(reducer, fold_range<32, kLanesLoads>(reducer, content, list.start, first, last), memory);
  } else {
    return fold_block(
        reducer, fold_strided<kWarpLoads>(reducer, content, list.start, from + threadIdx.x, to, kLanesThreads), memory);
  }
}

/// Returns the lane that keeps tile k of `several` tiles. In order, a lane keeps neighboring tiles; otherwise, tiles
/// that are 32 apart.
template <class R>
__device__ std::int64_t lane_of_tile(std::int64_t k, std::int64_t several) {
  return kFoldsInOrder<R> ? k / ((several + 31) / 32) : k % 32;
}

/// Folds a whole long list, on the first warp. Its lanes keep the same tiles as with slots.
template <class R>
__device__ typename R::Value fold_whole(const R& reducer, const Content<typename R::In>& content, const Extent& list,
                                        typename R::Value* memory) {
  typename R::Value mine = reducer.none();
  const std::int64_t several = tiles_in(list.length);
  for (std::int64_t k = 0; k < several; ++k) {
    const auto one = fold_tile(reducer, content, list, k, memory);
    if (lane_of_tile<R>(k, several) == threadIdx.x % 32) mine = reducer.merge(mine, one);
  }
  return fold_lanes<32>(reducer, mine);
}

/// Writes the fold of a tile to its slot. The last of the list's tiles writes the list's result. The first warp calls
/// it.
template <class R>
__device__ void hand_in(const R& reducer, const Content<typename R::In>& content, const ListTiles& tiles,
                        const ListTile& tile, const Extent& list, typename R::Value value) {
  using Value = typename R::Value;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t several = tiles_in(list.length);
  Value* const slots = reinterpret_cast<Value*>(tiles.slots + tile.slot * kSlotBytes<Value>);
  int before = 0;
  if (lane == 0) {
    slots[tile.number] = value;
    __threadfence();  // the slot before the count that publishes it
    before = atomicAdd(tiles.arrived + tile.slot, 1);
    __threadfence();  // the count before the other slots
  }
  if (__shfl_sync(gpu::detail::kAllLanes, before, 0) != several - 1) return;
  __syncwarp();  // every lane sees what lane 0 has acquired
  Value mine = reducer.none();
  const std::int64_t each = kFoldsInOrder<R> ? (several + 31) / 32 : 1;  // as in lane_of_tile()
  const std::int64_t first = lane * each;
  const std::int64_t last = kFoldsInOrder<R> && first + each < several ? first + each : several;
  for (std::int64_t k = first; k < last; k += kFoldsInOrder<R> ? 1 : 32) mine = reducer.merge(mine, slots[k]);
  mine = fold_lanes<32>(reducer, mine);
  if (lane == 0) write_result(reducer, tile.list, mine, [&] { return is_all_null(content, list, mine); });
}

template <class R>
static __global__ void __launch_bounds__(kLanesThreads)
    reduce_tiles(GivenLists lists, Content<typename R::In> content, R reducer, ListTiles tiles) {
  using Value = typename R::Value;
  alignas(Value) __shared__ unsigned char memory[kLanesThreads / 32 * sizeof(Value)];
  Value* const warp_values = reinterpret_cast<Value*>(memory);
  const auto asked = static_cast<std::int64_t>(*tiles.tile_count);
  const std::int64_t count = asked < tiles.tile_capacity ? asked : tiles.tile_capacity;
  for (std::int64_t p = blockIdx.x; p < count; p += gridDim.x) {
    const ListTile tile = tiles.tiles[p];
    Code code;
    const Extent list = lists.extent(tile.list, code);
    const bool is_one = tile.number == kWhole;
    const auto value = is_one ? fold_whole(reducer, content, list, warp_values)
                              : fold_tile(reducer, content, list, tile.number, warp_values);
    if (threadIdx.x >= 32) continue;
    if (!is_one) {
      hand_in(reducer, content, tiles, tile, list, value);
    } else if (threadIdx.x == 0) {
      write_result(reducer, tile.list, value, [&] { return is_all_null(content, list, value); });
    }
  }
}

// --------------------------------------------------------------------------------------------------------- short lists

/// Returns the value of another lane.
template <class T>
__device__ __forceinline__ T from_lane(const T& value, int lane) {
  return gpu::detail::shuffle(value, lane);
}

template <class R>
static __global__ void __launch_bounds__(kLanesThreads)
    reduce_short(GivenLists lists, Content<typename R::In> content, R reducer, ListTiles tiles) {
  using Value = typename R::Value;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first = (std::int64_t{blockIdx.x} * kLanesThreads + threadIdx.x) / 32 * 32;
  const std::int64_t count = gpu::detail::length_at(lists.count_at, lists.count);
  if (first >= count) return;
  const std::int64_t i = first + lane;
  const bool is_list = i < count;
  const Extent list = is_list ? lists.list(i) : Extent{0, 0};
  if constexpr (kCounts<R>) {
    if (!reducer.reads() && content.valid.data == nullptr) {  // the bounds are sufficient
      if (is_list) reducer.write(i, list.length);
      return;
    }
  }
  Value value = reducer.none();

  // ---- One lane per list.
  if (list.length <= kLaneList) value = fold_strided<kLanesLoads>(reducer, content, list.start, 0, list.length, 1);

  // ---- Eight lanes per list: row by row of four lists.
  const bool is_for_group = list.length > kLaneList && list.length <= kGroupList;
  const unsigned for_groups = __ballot_sync(gpu::detail::kAllLanes, is_for_group);
  for (int row = 0; row < 8; ++row) {
    if (((for_groups >> (4 * row)) & 15U) == 0) continue;
    const int source = 4 * row + lane / 8;
    const std::int64_t start = __shfl_sync(gpu::detail::kAllLanes, list.start, source);
    std::int64_t length = __shfl_sync(gpu::detail::kAllLanes, list.length, source);
    if (((for_groups >> source) & 1U) == 0) length = 0;
    const Value all = from_lane(fold_range<8, kLanesLoads>(reducer, content, start, 0, length), lane % 4 * 8);
    if (is_for_group && lane / 4 == row) value = all;
  }

  // ---- The whole warp, one list after the other.
  const bool is_for_warp = list.length > kGroupList && list.length <= kWarpList;
  for (unsigned left = __ballot_sync(gpu::detail::kAllLanes, is_for_warp); left != 0; left &= left - 1) {
    const int source = __ffs(static_cast<int>(left)) - 1;
    const std::int64_t start = __shfl_sync(gpu::detail::kAllLanes, list.start, source);
    const std::int64_t length = __shfl_sync(gpu::detail::kAllLanes, list.length, source);
    const Value all = fold_range<32, kFoldsInOrder<R> ? kLanesLoads : kWarpLoads>(reducer, content, start, 0, length);
    if (lane == source) value = all;
  }

  // ---- Longer lists are folded by the next kernel.
  const bool is_long = list.length > kWarpList;
  for (unsigned left = __ballot_sync(gpu::detail::kAllLanes, is_long); left != 0; left &= left - 1) {
    const int source = __ffs(static_cast<int>(left)) - 1;
    add_tiles(tiles, first + source, __shfl_sync(gpu::detail::kAllLanes, list.length, source));
  }
  if (is_list && !is_long) write_result(reducer, i, value, [&] { return is_all_null(content, list, value); });
}

template <class R>
static cudaError_t launch_lanes(const detail::SegmentedReduceCall& call, const R& reducer) {
  const gpu::Launch& launch = *call.launch;
  const ListTiles tiles = list_tiles_at(launch.scratch, call, kSlotBytes<typename R::Value>);
  const GivenLists lists = lists_of(call);
  const auto content = content_of<typename R::In>(call);
  cudaError_t error = cudaMemsetAsync(tiles.tile_count, 0, kCountersBytes, launch.stream);
  if (error != cudaSuccess) return error;
  const auto blocks = static_cast<unsigned>((lists.count + kLanesThreads - 1) / kLanesThreads);
  error = gpu::detail::launch({.blocks = blocks, .threads = kLanesThreads, .stream = launch.stream}, reduce_short<R>,
                              lists, content, reducer, tiles);
  if (error != cudaSuccess || call.n <= kWarpList) return error;
  const auto persistent = static_cast<unsigned>(launch.multiprocessors * gpu::tuning::kLanes.blocks);
  return gpu::detail::launch({.blocks = persistent, .threads = kLanesThreads, .stream = launch.stream}, reduce_tiles<R>,
                             lists, content, reducer, tiles);
}

}  // namespace upsweep::impl::segmented_reduce
