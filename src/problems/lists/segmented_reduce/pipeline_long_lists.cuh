// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_long_lists.cuh: all consumers of a block of cuda.pipeline fold a list that
// extends over several tiles.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_block.cuh"
#include "problems/lists/segmented_reduce/pipeline_lane_folds.cuh"

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

/// A consumer's state of the list that continues in the next tile.
template <class R>
class LongList : PipelineWarp {
 public:
  using In = typename R::In;
  using Value = typename R::Value;
  using Acc = typename InTile<R>::Acc;
  static_assert(sizeof(Value) <= 16);

  __device__ __forceinline__ LongList(const PipelineWarp& warp, const R& reducer)
      : PipelineWarp(warp), reducer_(reducer), tiles_{reducer}, folds_(reducer, lane_) {}

  /// Folds the elements of a tile that belong to a list over several tiles.
  __device__ __forceinline__ void fold_across(const Tile& tile, const char* bounds, const In* content) {
    const std::uint32_t flags = tile.flags;
    if ((flags & kShareBegin) != 0) {
      is_running_ = (flags & kSplit) != 0;
      began_here_ = false;
      running_list_ = tile.first;
      running_ = reducer_.none();
    }
    // If offsets descend, a list may continue in no tile.
    if (running_list_ < tile.list || running_list_ >= tile.list + tile.lists) is_running_ = false;
    if (is_running_) {
      const bool ends_in_share = running_list_ < tile.last;
      const std::int64_t stop =
          ends_in_share ? stage_end(lists_, tile, bounds, static_cast<std::uint32_t>(running_list_ - tile.list)) : 0;
      const bool ends_here = ends_in_share && stop <= tile.end();
      running_ = reducer_.merge(running_, partial_of(content, tile, tile.begin, ends_here ? stop : tile.end()));
      if (ends_here) {
        const Value all = fold_partials();
        is_running_ = false;
        if (threadIdx.x == 0) {
          if (began_here_) {
            tiles_.write_wide(running_list_, all,
                              stage_bound(lists_, bounds, static_cast<std::uint32_t>(running_list_ - tile.list)));
          } else {
            send({Role::ends, false, tile.share, tile.first, tile.start}, all);
          }
        }
      }
    }
    if (!is_running_ && (flags & (kEndsInList | kTrail)) != 0) begin_running(tile, bounds, content);
    if ((flags & kShareEnd) != 0 && is_running_) {
      const Value all = fold_partials();
      is_running_ = false;
      if (threadIdx.x == 0) send({Role::goes_on, began_here_, tile.share, tile.first, tile.start}, all);
    }
  }

  /// Tells the publisher that nothing follows. One thread of the consumers calls this.
  __device__ __forceinline__ void end() { send({Role::no_more, false, 0, 0, 0}, Value{}); }

 private:
  /// Returns one thread's fold of the elements [from, to) of the content.
  __device__ __forceinline__ Value partial_of(const In* content, const Tile& tile, std::int64_t from,
                                              std::int64_t to) const {
    if (to <= from) return reducer_.none();
    const auto first = static_cast<std::uint32_t>(from - tile.begin);
    const Acc acc = folds_.template fold_spread<8>(content, first, static_cast<std::uint32_t>(to - tile.begin),
                                                   threadIdx.x, kConsumerThreads);
    return tiles_.widen(acc, content, first, tile.begin);
  }
  /// Returns the fold of all consumers' values, in a fixed order, on the first warp. There are two arrays of sums: the
  /// first warp has read one array before the other is full.
  __device__ __forceinline__ Value fold_partials() {
    const Value mine = fold_values(reducer_, running_);
    Value* const sums = reinterpret_cast<Value*>(head_.sums[flip_][0]);
    flip_ ^= 1;
    if (lane_ == 0) memcpy(reinterpret_cast<char*>(sums) + warp_ * 16, &mine, sizeof mine);
    asm volatile("bar.sync 1,%0;" ::"n"(kConsumerThreads) : "memory");
    Value of_warp = reducer_.none();
    if (lane_ < kConsumers) memcpy(&of_warp, reinterpret_cast<const char*>(sums) + lane_ * 16, sizeof of_warp);
    return fold_values(reducer_, of_warp);
  }

  /// Sends a partial fold to the publisher. One thread of the consumers calls this.
  __device__ __forceinline__ void send(const Partial& partial, const Value& value) {
    const int slot = sent_ & 1;
    if (sent_ >= 2) head_.received[slot].wait(static_cast<std::uint32_t>((sent_ / 2 - 1) & 1));
    head_.mail[slot].partial = partial;
    memcpy(head_.mail[slot].value, &value, sizeof value);
    head_.sent[slot].arrive();
    ++sent_;
  }

  /// Finds the last list that begins before the tile's end, and notes it if it continues past the end.
  __device__ __forceinline__ void begin_running(const Tile& tile, const char* bounds, const In* content) {
    std::int64_t found = -1;
    for (std::uint32_t i = (tile.lists - 1) & ~31U;; i -= 32) {
      const std::uint32_t one = i + lane_;
      const bool begins =
          one < tile.lists && tile.list + one >= tile.first && stage_bound(lists_, bounds, one) < tile.end();
      const unsigned all = __ballot_sync(gpu::detail::kAllLanes, begins);
      if (all != 0) {
        found = i + 31 - __clz(static_cast<int>(all));
        break;
      }
      if (i == 0) break;
    }
    if (found < 0) return;
    const std::int64_t start = stage_bound(lists_, bounds, static_cast<std::uint32_t>(found));
    const bool goes_on =
        (tile.flags & kTrail) != 0 || stage_end(lists_, tile, bounds, static_cast<std::uint32_t>(found)) > tile.end();
    if (!goes_on || start < tile.begin) return;
    is_running_ = true;
    began_here_ = true;
    running_list_ = tile.list + found;
    running_ = partial_of(content, tile, start, tile.end());
  }

  const R& reducer_;
  InTile<R> tiles_;
  LaneFolds<R> folds_;
  Value running_{};
  std::int64_t running_list_ = 0;
  bool is_running_ = false;
  bool began_here_ = false;
  int flip_ = 0;
  int sent_ = 0;
};

}  // namespace upsweep::impl::segmented_reduce
#endif
