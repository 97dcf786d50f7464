// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_block.cuh: what the warps of a block of cuda.pipeline pass each other:
// shares, tiles, partial folds.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_shape.cuh"
#include "problems/lists/segmented_reduce/pipeline_shares.cuh"
#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/bulk_copy.cuh"

namespace upsweep::impl::segmented_reduce {

enum TileFlag : std::uint32_t {
  kClip = 1,        ///< not all lists with offsets here are complete here
  kFirst = 2,       ///< the first tile with these lists
  kEndsInList = 4,  ///< the tile ends within a list
  kShareBegin = 8,
  kShareEnd = 16,
  kNoMore = 32,
  kSplit = 64,   ///< the share begins within a list
  kTrail = 128,  ///< the share ends within a list
};

/// Describes the data that the loader has put into a stage.
struct Tile {
  std::int64_t list;         ///< the first list with offsets here
  std::int64_t begin;        ///< the first element in the content
  std::uint32_t size;        ///< number of elements
  std::uint32_t lists;       ///< number of lists with offsets here
  std::uint32_t bounds_at;   ///< bytes from the stage's begin to the first offset
  std::uint32_t content_at;  ///< bytes from the stage's begin to element `begin`
  std::uint32_t flags;
  int lanes;  ///< log2 of the number of lanes per list
  // These describe the share. They are set only for tiles that are clipped or begin a share.
  std::int64_t first;  ///< lists first … last - 1 end in the share
  std::int64_t last;
  std::int64_t start;  ///< start of list `first`
  std::int64_t share;

  __device__ std::int64_t end() const { return begin + size; }
};

/// The meaning of a partial fold: the list ends in this share, it continues in the next share, or no more folds follow.
enum class Role : std::int32_t { ends, goes_on, no_more };

/// Identifies the list of a partial fold.
struct Partial {
  Role role;
  bool begins_here;
  std::int64_t share;
  std::int64_t list;
  std::int64_t start;
};

/// A partial fold that is sent to the publisher.
struct Mail {
  Partial partial;
  alignas(16) char value[16];
};

/// A share that the search passes to the loader.
struct Share {
  Border begin;
  Border end;
  std::int64_t number;  ///< -1: no share is left
  std::int64_t lists_end;
  std::int64_t base;                   ///< the first list of the first group: at or before begin.list
  int unit;                            ///< number of lists of a group
  int units;                           ///< 0: nothing to fold; < 0: offsets descend, lists are only checked
  std::uint32_t elements[kMostUnits];  ///< number of elements from the share's begin to each group's end
};

/// The data that the warps of a block pass each other, at the beginning of its shared memory.
struct PipelineHead {
  gpu::detail::Barrier full[kStages];
  gpu::detail::Barrier empty[kStages];
  gpu::detail::Barrier found[2];
  gpu::detail::Barrier taken[2];
  gpu::detail::Barrier sent[2];
  gpu::detail::Barrier received[2];
  Mail mail[2];
  Tile tile[kStages];
  Share share[2];
  alignas(16) char sums[2][kConsumers][16];
};
static_assert(sizeof(PipelineHead) <= kHeadBytes);

__device__ inline void report_bad(const ListsCall& call, std::int64_t list) {
  atomicMax(&call.control->bad, ~static_cast<unsigned long long>(list));
}
__device__ inline void report_if_bad(const ListsCall& call, std::int64_t list, std::int64_t start, std::int64_t stop) {
  if (call.lists.check(list, start, stop) != Code::ok) report_bad(call, list);
}
/// Checks only the bounds of lists from, from + step, ….
__device__ inline void check_lists(const ListsCall& call, std::int64_t from, std::int64_t to, std::int64_t step) {
  for (std::int64_t i = from; i < to; i += step) {
    report_if_bad(call, i, call.lists.bound(call.lists.starts, i), call.lists.bound(call.lists.stops, i));
  }
}

/// Returns an offset in a stage.
__device__ __forceinline__ std::int64_t stage_bound(const GivenLists& lists, const char* bounds, std::uint32_t i) {
  if (lists.kind == BoundKind::int64) return reinterpret_cast<const std::int64_t*>(bounds)[i];
  const std::int32_t word = reinterpret_cast<const std::int32_t*>(bounds)[i];
  return lists.kind == BoundKind::int32 ? word : static_cast<std::int64_t>(static_cast<std::uint32_t>(word));
}
/// Returns the end of list number i of the tile.
__device__ __forceinline__ std::int64_t stage_end(const GivenLists& lists, const Tile& tile, const char* bounds,
                                                  std::uint32_t i) {
  return lists.end_of(tile.list + i, stage_bound(lists, bounds, i), stage_bound(lists, bounds, i + 1));
}

// ----------------------------------------------------------------------------------------------------------- the warps

/// The state that every warp of a block needs. Each role derives from it.
class PipelineWarp {
 public:
  __device__ __forceinline__ PipelineWarp(const ListsCall& call, char* shared)
      : call_(call),
        lists_(call.lists),
        head_(*reinterpret_cast<PipelineHead*>(shared)),
        stages_(shared + kHeadBytes),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

 protected:
  const ListsCall& call_;
  const GivenLists& lists_;
  PipelineHead& head_;
  char* stages_;
  int warp_;
  int lane_;
};

/// A stage of a block, and the phase parity of its barriers. The loader and the consumers visit the stages in the same
/// order.
struct StageCursor {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace upsweep::impl::segmented_reduce
#endif
