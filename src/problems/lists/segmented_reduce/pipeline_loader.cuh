// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_loader.cuh: the warp of cuda.pipeline that divides shares into tiles and
// starts their bulk copies.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_block.cuh"
#include "problems/lists/segmented_reduce/pipeline_tile_folds.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/bulk_copy.cuh"

namespace upsweep::impl::segmented_reduce {

/// A bulk copy that is still to be started.
struct Copy {
  char* to;
  const char* from;
  std::uint32_t bytes;
  std::uint32_t shift;  ///< position of the first requested byte in the stage
  std::uint32_t end;    ///< end of the last 16-byte group in the stage
};
/// Returns the copy of `bytes` bytes, extended to whole 16-byte groups. The destination is at or after stage + from, at
/// the same offset within a line as the source. Zero bytes need no copy.
__device__ __forceinline__ Copy whole_units(char* stage, std::uint32_t from, const char* first, std::uint32_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  const auto past = static_cast<std::uint32_t>(address % 16);
  const std::uint32_t at = from + ((static_cast<std::uint32_t>(address) - past - from) & (kLineBytes - 1));
  const std::uint32_t units = bytes > 0 ? (past + bytes + 15) / 16 * 16 : 0;
  return {stage + at, first - past, units, at + past, at + units};
}
/// Does the same for the few shares at the array's two ends. The warp copies here, one by one, the bytes of a 16-byte
/// group that extends past the array. The function is not inline: otherwise its registers would count for all shares.
__device__ __noinline__ static Copy copy_ends(char* stage, std::uint32_t from, const char* first, const char* last,
                                              const char* array, const char* array_end) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (first == last) return {stage, first, 0, from, from};
  const auto past = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first) % 16);
  const auto past_last = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(last) % 16);
  char* const place = stage + from + past;
  const char* begin = first - past;
  const char* end = last + (16 - past_last) % 16;
  const std::uint32_t copied_end = from + static_cast<std::uint32_t>(end - begin);
  if (begin < array) begin += 16;
  if (end > array_end) end -= 16;
  const char* const head_end = begin < last ? begin : last;
  const char* const tail_begin = end > head_end ? end : head_end;
  const char* const byte = lane < 16 ? first + lane : tail_begin + (lane - 16);
  if (byte < (lane < 16 ? head_end : last)) {
    place[byte - first] = *byte;
    gpu::detail::fence_before_bulk();  // a later bulk copy may write to the same address
  }
  const std::uint32_t bytes = end > begin ? static_cast<std::uint32_t>(end - begin) : 0;
  return {place + (begin - first), begin, bytes, from + past, copied_end};
}

/// Divides shares into tiles, each in a stage of shared memory.
template <class R>
class TileLoader : PipelineWarp {
 public:
  using In = typename R::In;

  __device__ __forceinline__ TileLoader(const PipelineWarp& warp, const In* content)
      : PipelineWarp(warp), content_(content) {}

  __device__ __forceinline__ void run() {
    int slot = 0;
    std::uint32_t parity = 0;
    for (;;) {
      head_.found[slot].wait(parity);
      const Share& share = head_.share[slot];
      if (share.number < 0) break;
      if (share.units < 0) {
        check_lists(call_, share.begin.list + lane_, share.end.list, 32);
      } else {
        load_share(share);
      }
      __syncwarp();
      if (lane_ == 0) head_.taken[slot].arrive();
      slot ^= 1;
      if (slot == 0) parity ^= 1;
    }
    if (loaded_ >= kStages) head_.empty[cursor_.stage].wait(cursor_.parity ^ 1);
    if (lane_ == 0) {
      head_.tile[cursor_.stage].flags = kNoMore;
      head_.full[cursor_.stage].arrive();
    }
    __syncwarp();
  }

  /// Divides a share into tiles. Elements are counted from the share's begin.
  __device__ __forceinline__ void load_share(const Share& share) {
    const int bound_shift = lists_.kind == BoundKind::int64 ? 3 : 2;
    const int unit = share.unit;
    const int units = share.units;
    const std::int64_t base = share.base;
    const auto lists = static_cast<int>(share.lists_end - base);
    const bool split = share.begin.element > share.begin.start;
    // Whether copies may extend past the requested bytes, to whole groups of 16 bytes.
    const bool are_inner_bounds = base >= 16 && share.lists_end + 16 <= lists_.count;
    const bool is_inner_content = share.begin.element >= lists_.begin + 16 && share.end.element + 16 <= lists_.end;
    std::uint32_t flags_of_begin = kShareBegin | (split ? kSplit | kClip : 0) | (base != share.begin.list ? kClip : 0);
    bool is_first = !split;
    const auto first = static_cast<std::uint32_t>(share.begin.element);
    std::uint32_t x = 0;
    for (int row = 0; row < units; row += 32) {
      const std::uint32_t y = row + lane_ < units ? share.elements[row + lane_] : ~0U >> 4;
      int u = 0;
      while (u < 32 && row + u < units) {
        const std::uint32_t bytes =
            (y - x) * kBytes + (static_cast<std::uint32_t>((lane_ + 1 - u) * unit) << bound_shift);
        const int fit = __popc(__ballot_sync(gpu::detail::kAllLanes, lane_ >= u && bytes <= kStageBytes - kStageSlack));
        const int u_end = u + (fit > 0 ? fit : 1);
        const std::uint32_t x_end =
            fit > 0 ? __shfl_sync(gpu::detail::kAllLanes, y, u_end - 1)
                    : to_line(first, x + (kStageBytes - kStageSlack - (unit << bound_shift)) / kBytes);
        const int list = (row + u) * unit;
        const bool is_last = row + u_end == units;
        std::uint32_t flags = flags_of_begin | (is_first ? kFirst : kClip);
        if (fit == 0) flags |= kEndsInList | kClip;
        if (fit > 0 && is_last) {
          flags |= kShareEnd | kClip | (share.end.element > share.end.start ? kTrail : 0);
        }
        const auto lists_here = static_cast<std::uint32_t>((is_last ? lists : (row + u_end) * unit) - list);
        const TileExtent extent{base + list, share.begin.element + x, lists_here, x_end - x, flags};
        load_tile(extent, share, bound_shift, are_inner_bounds, is_inner_content);
        x = x_end;
        flags_of_begin = 0;
        is_first = fit > 0;
        if (fit > 0) u = u_end;
      }
    }
  }

  /// Returns the last element at or before x, counted from `first`, that begins a cache line of the content.
  __device__ static __forceinline__ std::uint32_t to_line(std::uint32_t first, std::uint32_t x) {
    return x - ((first + x) & (kLineBytes / kBytes - 1));
  }

  /// Lists and elements of a tile.
  struct TileExtent {
    std::int64_t list;
    std::int64_t begin;
    std::uint32_t lists;
    std::uint32_t size;
    std::uint32_t flags;
  };

  __device__ __forceinline__ void load_tile(const TileExtent& extent, const Share& share, int bound_shift,
                                            bool are_inner_bounds, bool is_inner_content) {
    const char* const first_bound = static_cast<const char*>(lists_.starts) + (extent.list << bound_shift);
    const char* const first_element = reinterpret_cast<const char*>(content_ + extent.begin);
    const std::uint32_t bound_bytes = (extent.lists + 1) << bound_shift;
    char* const stage = stages_ + cursor_.stage * kStageBytes;
    if (loaded_ >= kStages) head_.empty[cursor_.stage].wait(cursor_.parity ^ 1);
    const char* const starts = static_cast<const char*>(lists_.starts);
    const Copy bounds = are_inner_bounds ? whole_units(stage, 0, first_bound, bound_bytes)
                                         : copy_ends(stage, 0, first_bound, first_bound + bound_bytes, starts,
                                                     starts + ((lists_.count + 1) << bound_shift));
    const std::uint32_t content_bytes = extent.size * kBytes;
    const Copy content = is_inner_content ? whole_units(stage, bounds.end, first_element, content_bytes)
                                          : copy_ends(stage, bounds.end, first_element, first_element + content_bytes,
                                                      reinterpret_cast<const char*>(content_ + lists_.begin),
                                                      reinterpret_cast<const char*>(content_ + lists_.end));
    __syncwarp();  // orders the bytes at the ends before the arrival below
    if (lane_ == 0) {
      Tile& tile = head_.tile[cursor_.stage];
      tile.list = extent.list;
      tile.begin = extent.begin;
      tile.size = extent.size;
      tile.lists = extent.lists;
      tile.bounds_at = bounds.shift;
      tile.content_at = content.shift;
      tile.flags = extent.flags;
      tile.lanes = lanes_for(extent.lists, extent.size);
      if ((extent.flags & (kClip | kShareBegin)) != 0) {
        tile.first = share.begin.list;
        tile.last = share.end.list;
        tile.start = share.begin.start;
        tile.share = share.number;
      }
      head_.full[cursor_.stage].arrive_expecting(bounds.bytes + content.bytes);
      if (bounds.bytes > 0) gpu::detail::bulk_load(bounds.to, bounds.from, bounds.bytes, head_.full[cursor_.stage]);
      if (content.bytes > 0) gpu::detail::bulk_load(content.to, content.from, content.bytes, head_.full[cursor_.stage]);
    }
    __syncwarp();
    cursor_.next();
    ++loaded_;
  }

  /// Returns log2 of the lanes per list, so that all lanes are busy with `lists` lists in the tile.
  __device__ static __forceinline__ int lanes_for(std::uint32_t lists, std::uint32_t elements) {
    if (InTile<R>::kByWords && elements >= lists * 128) return 5;
    const int lanes = 31 - __clz(kConsumerThreads) - (32 - __clz(static_cast<int>(lists - 1)));
    return lanes < 0 ? 0 : lanes < 5 ? lanes : 5;
  }

  static constexpr std::uint32_t kBytes = sizeof(In);

  const In* content_;
  StageCursor cursor_;
  int loaded_ = 0;  ///< number of tiles
};

}  // namespace upsweep::impl::segmented_reduce
#endif
