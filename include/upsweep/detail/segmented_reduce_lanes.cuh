// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_reduce_lanes.cuh: cuda.lanes: the kernels that fold each list by as many lanes as it has elements for, for
// any reducer; src/problems/lists/segmented_reduce/cuda_lanes.cu says how.
#pragma once

#include <cstdint>

#include "upsweep/detail/segmented_reduce_lists.cuh"
#include "upsweep/detail/tuning/segmented_reduce.hpp"

namespace upsweep::impl::segmented_reduce {

// Lists of up to kLaneList elements are folded by a lane, up to kGroupList by eight, up to kWarpList by a warp; longer ones
// in pieces of kPiece elements by blocks. Who folds a list, and in which order, depends on its length alone.
inline constexpr std::int64_t kLaneList = gpu::tuning::kLanesOrder.lane_list;
inline constexpr std::int64_t kGroupList = gpu::tuning::kLanesOrder.group_list;
inline constexpr std::int64_t kWarpList = gpu::tuning::kLanesOrder.warp_list;
inline constexpr std::int64_t kPiece = gpu::tuning::kLanesOrder.work_unit;
inline constexpr int kLanesLoads = gpu::tuning::kLanesOrder.loads;
inline constexpr int kWarpLoads = gpu::tuning::kLanesOrder.warp_loads;

/// A piece of a long list, or all of it where the list has got no slots.
struct Piece {
  std::int64_t list;
  std::int64_t number;  ///< kWhole: all of it
  std::int64_t slot;    ///< of the list's first piece
};
inline constexpr std::int64_t kWhole = -1;

/// The pieces of a call, and a slot for the fold of each piece of lists of several.
struct Pieces {
  unsigned long long* piece_count;  ///< may come to more than there is room for: lists are bad then
  unsigned long long* slot_count;
  Piece* pieces;
  int* arrived;  ///< at a list's first slot: how many of its pieces are folded
  char* slots;
  std::int64_t piece_room;
  std::int64_t slot_room;
};

inline constexpr std::int64_t kCountersBytes = 256;

/// Bytes of a slot: what follows the slots is aligned, too.
template <class Value>
inline constexpr std::int64_t kSlotBytes = [] {
  constexpr std::int64_t kStep = alignof(Value) > 16 ? alignof(Value) : 16;
  return (std::int64_t{sizeof(Value)} + kStep - 1) / kStep * kStep;
}();

/// Lists one after the other have n elements together; others may have any number, as those between offsets that go back
/// over null lists have, so that there is room for each list as a whole.
inline Pieces room_for(const detail::SegmentedReduceCall& call) {
  Pieces room{};
  room.slot_room = call.n / kPiece * 2 + 2;
  const std::int64_t most_long = call.n / kWarpList + 1;
  const std::int64_t lists = call.lists.count;
  const bool are_apart = call.lists.has_size || (call.lists.are_adjacent() && !call.lists.valid.is_given());
  room.piece_room = room.slot_room + (are_apart && lists > most_long ? most_long : lists);
  return room;
}
/// The scratch of a call whose folds take slots of so many bytes.
inline std::int64_t pieces_bytes(const detail::SegmentedReduceCall& call, std::int64_t slot_bytes) {
  const Pieces room = room_for(call);
  return kCountersBytes + room.piece_room * std::int64_t{sizeof(Piece)} + room.slot_room * (slot_bytes + 4);
}
inline Pieces pieces_at(void* scratch, const detail::SegmentedReduceCall& call, std::int64_t slot_bytes) {
  Pieces pieces = room_for(call);
  char* at = static_cast<char*>(scratch);
  pieces.piece_count = reinterpret_cast<unsigned long long*>(at);
  pieces.slot_count = pieces.piece_count + 1;
  pieces.slots = at + kCountersBytes;
  pieces.pieces = reinterpret_cast<Piece*>(pieces.slots + pieces.slot_room * slot_bytes);
  pieces.arrived = reinterpret_cast<int*>(pieces.pieces + pieces.piece_room);
  return pieces;
}

inline constexpr int kLanesThreads = gpu::tuning::kLanesOrder.threads;

// ----------------------------------------------------------------------------------------------------- pieces of long lists

__device__ inline std::int64_t pieces_in(std::int64_t length) { return (length + kPiece - 1) / kPiece; }

/// By a whole warp, with the same list on every lane.
__device__ inline void add_pieces(const Pieces& pieces, std::int64_t list, std::int64_t length) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t several = pieces_in(length);
  unsigned long long slot = 0;
  unsigned long long first = 0;
  bool has_slots = false;
  if (lane == 0) {
    if (several > 1) {
      slot = atomicAdd(pieces.slot_count, static_cast<unsigned long long>(several));
      has_slots = slot + static_cast<unsigned long long>(several) <= static_cast<unsigned long long>(pieces.slot_room);
      if (has_slots) pieces.arrived[slot] = 0;
    }
    first = atomicAdd(pieces.piece_count, static_cast<unsigned long long>(has_slots ? several : 1));
  }
  slot = __shfl_sync(gpu::detail::kAllLanes, slot, 0);
  first = __shfl_sync(gpu::detail::kAllLanes, first, 0);
  has_slots = __shfl_sync(gpu::detail::kAllLanes, has_slots ? 1 : 0, 0) != 0;
  const std::int64_t count = has_slots ? several : 1;
  for (std::int64_t k = lane; k < count; k += 32) {
    const std::int64_t at = static_cast<std::int64_t>(first) + k;
    // There is room for all of lists that are good.
    if (at < pieces.piece_room) pieces.pieces[at] = {list, has_slots ? k : kWhole, static_cast<std::int64_t>(slot)};
  }
}

template <class R>
__device__ typename R::Value fold_piece(const R& reducer, const Content<typename R::In>& content, const Extent& list,
                                        std::int64_t number, typename R::Value* room) {
  const std::int64_t from = number * kPiece;
  const std::int64_t to = from + kPiece < list.length ? from + kPiece : list.length;
  if constexpr (kFoldsInOrder<R>) {
    constexpr std::int64_t kOfWarp = kPiece / (kLanesThreads / 32);
    const std::int64_t first = from + threadIdx.x / 32 * kOfWarp;
    const std::int64_t last = first + kOfWarp < to ? first + kOfWarp : to;
    return fold_warps(reducer, fold_range<32, kLanesLoads>(reducer, content, list.start, first, last), room);
  } else {
    return fold_block(
        reducer, fold_strided<kWarpLoads>(reducer, content, list.start, from + threadIdx.x, to, kLanesThreads), room);
  }
}

/// The lane that keeps piece k of so many: in order neighbours, else those that are 32 apart.
template <class R>
__device__ std::int64_t lane_of_piece(std::int64_t k, std::int64_t several) {
  return kFoldsInOrder<R> ? k / ((several + 31) / 32) : k % 32;
}

/// A long list alone, on the first warp: its lanes keep the pieces that they would keep with slots.
template <class R>
__device__ typename R::Value fold_whole(const R& reducer, const Content<typename R::In>& content, const Extent& list,
                                        typename R::Value* room) {
  typename R::Value mine = reducer.none();
  const std::int64_t several = pieces_in(list.length);
  for (std::int64_t k = 0; k < several; ++k) {
    const auto one = fold_piece(reducer, content, list, k, room);
    if (lane_of_piece<R>(k, several) == threadIdx.x % 32) mine = reducer.merge(mine, one);
  }
  return fold_lanes<32>(reducer, mine);
}

/// By the first warp: leaves the fold of a piece in its slot; the last of the list's pieces writes the list's result.
template <class R>
__device__ void hand_in(const R& reducer, const Content<typename R::In>& content, const Pieces& pieces,
                        const Piece& piece, const Extent& list, typename R::Value value) {
  using Value = typename R::Value;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t several = pieces_in(list.length);
  Value* const slots = reinterpret_cast<Value*>(pieces.slots + piece.slot * kSlotBytes<Value>);
  int before = 0;
  if (lane == 0) {
    slots[piece.number] = value;
    __threadfence();  // the slot before the count that says it is there
    before = atomicAdd(pieces.arrived + piece.slot, 1);
    __threadfence();  // the count before the other slots
  }
  if (__shfl_sync(gpu::detail::kAllLanes, before, 0) != several - 1) return;
  __syncwarp();  // what lane 0 has acquired is every lane's
  Value mine = reducer.none();
  const std::int64_t each = kFoldsInOrder<R> ? (several + 31) / 32 : 1;  // as lane_of_piece() says
  const std::int64_t first = lane * each;
  const std::int64_t last = kFoldsInOrder<R> && first + each < several ? first + each : several;
  for (std::int64_t k = first; k < last; k += kFoldsInOrder<R> ? 1 : 32) mine = reducer.merge(mine, slots[k]);
  mine = fold_lanes<32>(reducer, mine);
  if (lane == 0) write_result(reducer, piece.list, mine, [&] { return is_all_null(content, list, mine); });
}

template <class R>
static __global__ void __launch_bounds__(kLanesThreads)
    reduce_pieces(GivenLists lists, Content<typename R::In> content, R reducer, Pieces pieces) {
  using Value = typename R::Value;
  alignas(Value) __shared__ unsigned char memory[kLanesThreads / 32 * sizeof(Value)];
  Value* const room = reinterpret_cast<Value*>(memory);
  const auto asked = static_cast<std::int64_t>(*pieces.piece_count);
  const std::int64_t count = asked < pieces.piece_room ? asked : pieces.piece_room;
  for (std::int64_t p = blockIdx.x; p < count; p += gridDim.x) {
    const Piece piece = pieces.pieces[p];
    Code code;
    const Extent list = lists.extent(piece.list, code);
    const bool is_one = piece.number == kWhole;
    const auto value =
        is_one ? fold_whole(reducer, content, list, room) : fold_piece(reducer, content, list, piece.number, room);
    if (threadIdx.x >= 32) continue;
    if (!is_one) {
      hand_in(reducer, content, pieces, piece, list, value);
    } else if (threadIdx.x == 0) {
      write_result(reducer, piece.list, value, [&] { return is_all_null(content, list, value); });
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- short lists

/// A value of this lane from another one.
template <class T>
__device__ __forceinline__ T from_lane(const T& value, int lane) {
  return gpu::detail::shuffle(value, lane);
}

template <class R>
static __global__ void __launch_bounds__(kLanesThreads)
    reduce_short(GivenLists lists, Content<typename R::In> content, R reducer, Pieces pieces) {
  using Value = typename R::Value;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first = (std::int64_t{blockIdx.x} * kLanesThreads + threadIdx.x) / 32 * 32;
  const std::int64_t count = gpu::detail::length_at(lists.count_at, lists.count);
  if (first >= count) return;
  const std::int64_t i = first + lane;
  const bool is_list = i < count;
  const Extent list = is_list ? lists.list(i) : Extent{0, 0};
  if constexpr (kCounts<R>) {
    if (!reducer.reads() && content.valid.data == nullptr) {  // the bounds say it
      if (is_list) reducer.write(i, list.length);
      return;
    }
  }
  Value value = reducer.none();

  // ---- A lane each.
  if (list.length <= kLaneList) value = fold_strided<kLanesLoads>(reducer, content, list.start, 0, list.length, 1);

  // ---- Eight lanes each: row by row of four lists.
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

  // ---- The warp, one after the other.
  const bool is_for_warp = list.length > kGroupList && list.length <= kWarpList;
  for (unsigned left = __ballot_sync(gpu::detail::kAllLanes, is_for_warp); left != 0; left &= left - 1) {
    const int source = __ffs(static_cast<int>(left)) - 1;
    const std::int64_t start = __shfl_sync(gpu::detail::kAllLanes, list.start, source);
    const std::int64_t length = __shfl_sync(gpu::detail::kAllLanes, list.length, source);
    const Value all = fold_range<32, kFoldsInOrder<R> ? kLanesLoads : kWarpLoads>(reducer, content, start, 0, length);
    if (lane == source) value = all;
  }

  // ---- Longer ones wait for the next kernel.
  const bool is_long = list.length > kWarpList;
  for (unsigned left = __ballot_sync(gpu::detail::kAllLanes, is_long); left != 0; left &= left - 1) {
    const int source = __ffs(static_cast<int>(left)) - 1;
    add_pieces(pieces, first + source, __shfl_sync(gpu::detail::kAllLanes, list.length, source));
  }
  if (is_list && !is_long) write_result(reducer, i, value, [&] { return is_all_null(content, list, value); });
}

template <class R>
static cudaError_t launch_lanes(const detail::SegmentedReduceCall& call, const R& reducer) {
  const gpu::Launch& launch = *call.launch;
  const Pieces pieces = pieces_at(launch.scratch, call, kSlotBytes<typename R::Value>);
  const GivenLists lists = lists_of(call);
  const auto content = content_of<typename R::In>(call);
  cudaError_t error = cudaMemsetAsync(pieces.piece_count, 0, kCountersBytes, launch.stream);
  if (error != cudaSuccess) return error;
  const auto blocks = static_cast<unsigned>((lists.count + kLanesThreads - 1) / kLanesThreads);
  error = gpu::detail::launch({.blocks = blocks, .threads = kLanesThreads, .stream = launch.stream}, reduce_short<R>,
                              lists, content, reducer, pieces);
  if (error != cudaSuccess || call.n <= kWarpList) return error;
  const auto persistent = static_cast<unsigned>(launch.multiprocessors * gpu::tuning::kLanes.blocks);
  return gpu::detail::launch({.blocks = persistent, .threads = kLanesThreads, .stream = launch.stream},
                             reduce_pieces<R>, lists, content, reducer, pieces);
}

}  // namespace upsweep::impl::segmented_reduce
