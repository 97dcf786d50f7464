// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_consumers.cuh: the warps of cuda.pipeline that fold the lists of each tile.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_long_lists.cuh"

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

/// A warp that folds lists. The consumers of a block take turns; each turn is 32 lanes' worth of lists.
template <class R>
class Consumer : public PipelineWarp {
 public:
  using In = typename R::In;
  using Acc = typename InTile<R>::Acc;

  __device__ __forceinline__ Consumer(const PipelineWarp& warp, const R& reducer)
      : PipelineWarp(warp), tiles_{reducer}, folds_(reducer, lane_), long_(warp, reducer) {}

  /// Folds all tiles. Bound is the unsigned integer type of the offsets' size.
  template <class Bound>
  __device__ __forceinline__ void run() {
    int turn = warp_;
    for (;; cursor_.next()) {
      head_.full[cursor_.stage].wait(cursor_.parity);
      const Tile& tile = head_.tile[cursor_.stage];
      if ((tile.flags & kNoMore) != 0) {
        if (threadIdx.x == 0) long_.end();
        return;
      }
      const char* const stage = stages_ + cursor_.stage * kStageBytes;
      const char* const bounds = stage + tile.bounds_at;
      const In* const content = reinterpret_cast<const In*>(stage + tile.content_at);
      // These stay in registers: the compiler must assume that writing results might overwrite the tile.
      const Here here{bounds, tile.list, tile.begin, tile.size, tile.lists, tile.flags};
      const int lanes = tile.lanes;
      const int batches = static_cast<int>(((here.lists << lanes) + 31) / 32);
      int batch = turn;
      for (; batch < batches; batch += kConsumers) {
        const std::uint32_t i = static_cast<std::uint32_t>(batch * 32 + lane_) >> lanes;
        std::uint32_t from;
        std::uint32_t length;
        const bool is_mine = place<Bound>(here, i, from, length);
        const Acc acc =
            lanes == 0 ? folds_.fold_lists(content, from, length) : folds_.fold_groups(content, from, length, lanes);
        if (is_mine && (lane_ & ((1 << lanes) - 1)) == 0) {
          tiles_.write(here.list + i, acc, content, from, length);
        }
      }
      turn = batch - batches;  // continues where this tile's turns ended
      if ((here.flags & (kClip | kShareBegin)) != 0) long_.fold_across(tile, bounds, content);
      __syncwarp();
      if (lane_ == 0) head_.empty[cursor_.stage].arrive();
    }
  }

 private:
  /// The fields of a tile that consumers need for every list.
  struct Here {
    const char* bounds;
    std::int64_t list;
    std::int64_t begin;
    std::uint32_t size;  ///< number of elements
    std::uint32_t lists;
    std::uint32_t flags;
  };

  /// Returns whether this is the last list and may end with the content, because its bound is past the content's end.
  /// The last tile of any share may contain it.
  __device__ __forceinline__ bool ends_with_content(const Here& here, std::uint32_t i) const {
    return (here.flags & kShareEnd) != 0 && lists_.cuts_last && here.list + i == lists_.count - 1;
  }

  /// Writes the list's position in the tile, or an empty range. Returns whether the list is complete here and must be
  /// folded by this tile. Reports a bad list. Bounds are compared as unsigned integers of their size, in which all
  /// bounds within the tile are exact.
  template <class Bound>
  __device__ __forceinline__ bool place(const Here& here, std::uint32_t i, std::uint32_t& from,
                                        std::uint32_t& length) const {
    const Bound* const bounds = reinterpret_cast<const Bound*>(here.bounds);
    const auto base = static_cast<Bound>(here.begin);
    const Bound begin = bounds[i < here.lists ? i : here.lists] - base;
    const Bound end = bounds[i < here.lists ? i + 1 : here.lists] - base;
    from = static_cast<std::uint32_t>(begin);
    length = static_cast<std::uint32_t>(end) - from;
    bool is_here = begin <= end && end <= here.size;
    if ((here.flags & kClip) != 0) {
      const Tile& tile = head_.tile[cursor_.stage];
      const std::int64_t list = here.list + i;
      const bool is_its = i < here.lists && list >= tile.first && list < tile.last;
      if (ends_with_content(here, i) && begin <= here.size && end > here.size) {
        length = here.size - from;
        is_here = true;
      }
      if (is_its && !is_here) {
        report_if_bad(call_, list, stage_bound(lists_, here.bounds, i), stage_bound(lists_, here.bounds, i + 1));
      }
      is_here = is_its && is_here && (end > 0 || (here.flags & kFirst) != 0);
    } else if (i < here.lists && !is_here) {
      report_if_bad(call_, here.list + i, stage_bound(lists_, here.bounds, i), stage_bound(lists_, here.bounds, i + 1));
    }
    if (!is_here) {
      from = 0;
      length = 0;
    }
    return is_here && i < here.lists;
  }

  InTile<R> tiles_;
  LaneFolds<R> folds_;
  StageCursor cursor_;
  LongList<R> long_;
};

}  // namespace upsweep::impl::segmented_reduce
#endif
