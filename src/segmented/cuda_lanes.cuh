// SPDX-License-Identifier: Apache-2.0
// segmented/cuda_lanes.cuh: the sizes and the memory of cuda.lanes, and its calls by the type that elements are kept as.
#pragma once

#include "segmented/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA

namespace upsweep::segmented {

// Lists of up to kLaneList elements are folded by a lane, up to kGroupList by eight, up to kWarpList by a warp; longer ones
// in pieces of kPiece elements by blocks. Who folds a list, and in which order, depends on its length alone.
inline constexpr std::int64_t kLaneList = 8;
inline constexpr std::int64_t kGroupList = 64;
inline constexpr std::int64_t kWarpList = 2048;
inline constexpr std::int64_t kPiece = 16384;

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

inline constexpr std::int64_t kSlotBytes = 16;
inline constexpr std::int64_t kCountersBytes = 256;

/// Lists one after the other have n elements together; others may have any number, as those between offsets that go back
/// over null lists have, so that there is room for each list as a whole.
inline Pieces room_for(const detail::SegmentedCall& call) {
  Pieces room{};
  room.slot_room = call.n / kPiece * 2 + 2;
  const std::int64_t most_long = call.n / kWarpList + 1;
  const std::int64_t lists = call.lists.count;
  const bool are_apart = call.lists.has_size || (call.lists.are_adjacent() && !call.lists.valid.is_given());
  room.piece_room = room.slot_room + (are_apart && lists > most_long ? most_long : lists);
  return room;
}
inline std::int64_t bytes_of(const Pieces& room) {
  return kCountersBytes + room.piece_room * std::int64_t{sizeof(Piece)} + room.slot_room * (kSlotBytes + 4);
}
inline Pieces pieces_at(void* scratch, const detail::SegmentedCall& call) {
  Pieces pieces = room_for(call);
  char* at = static_cast<char*>(scratch);
  pieces.piece_count = reinterpret_cast<unsigned long long*>(at);
  pieces.slot_count = pieces.piece_count + 1;
  pieces.slots = at + kCountersBytes;
  pieces.pieces = reinterpret_cast<Piece*>(pieces.slots + pieces.slot_room * kSlotBytes);
  pieces.arrived = reinterpret_cast<int*>(pieces.pieces + pieces.piece_room);
  return pieces;
}

/// Compiled once per type that elements are kept as, in lanes_kernels.cu.
template <class T>
Status lanes_on(const detail::SegmentedCall& call) noexcept;

}  // namespace upsweep::segmented
#endif
