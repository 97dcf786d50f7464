// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_shares.cuh: divides the work of a call of cuda.pipeline into shares, and
// searches the begin of a share.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_shape.cuh"
#if UPSWEEP_HAS_CUDA
#include "cuda/work_path.cuh"
#endif

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

__device__ __forceinline__ std::int64_t of_lane(std::int64_t value, int lane) {
  return __shfl_sync(gpu::detail::kAllLanes, static_cast<long long>(value), lane);
}

/// The offsets, clamped for the search and the loader, and the begins of shares.
struct ShareMap {
  const GivenLists& lists;
  gpu::PathCost cost;  ///< in bytes
  std::int64_t first;  ///< first offset
  std::int64_t last;
  std::int64_t work;
  int large_bits;
  int small_bits;
  std::int64_t large;  ///< number of large shares
  std::int64_t shares;

  __device__ ShareMap(const GivenLists& given, int element, int result)
      : lists(given),
        cost{element, (given.kind == BoundKind::int64 ? 8 : 4) + result},
        first(given.bound(given.starts, 0)),
        last(given.end_of(given.count - 1, given.begin, given.bound(given.starts, given.count))),
        work(cost.length(last - first, given.count)),
        large_bits(bits_of(work)),
        small_bits(clamp(large_bits - 2)),
        large(work / 8 * 7 >> large_bits),
        shares(large + ((work - (large << large_bits) + (1LL << small_bits) - 1) >> small_bits)) {}

  __device__ static int bits_of(std::int64_t work) { return clamp(53 - __clzll(work)); }
  __device__ static int clamp(int bits) {
    return bits < kLeastShareBits ? kLeastShareBits : bits > kMostShareBits ? kMostShareBits : bits;
  }

  /// Returns whether the first and the last offset already imply that some list is bad.
  __device__ bool are_bad() const {
    return last < first || (last > first && (first < lists.begin || last > lists.end));
  }

  /// Returns an offset, clamped between the first and the last.
  __device__ __forceinline__ std::int64_t offset(std::int64_t i) const {
    const std::int64_t value = lists.bound(lists.starts, i);
    return value < first ? first : value > last ? last : value;
  }
  /// Returns the work before a share.
  __device__ std::int64_t before(std::int64_t share) const {
    const std::int64_t all =
        share <= large ? share << large_bits : (large << large_bits) + ((share - large) << small_bits);
    return all < work ? all : work;
  }
  __device__ std::int64_t share_of(std::int64_t position) const {
    const std::int64_t in_large = large << large_bits;
    return position < in_large ? position >> large_bits : large + ((position - in_large) >> small_bits);
  }
  /// Returns the work before a list.
  __device__ __forceinline__ std::int64_t position(std::int64_t list, std::int64_t start) const {
    return cost.length(start - first, list);
  }
  /// Returns the share in which a list's content begins.
  __device__ std::int64_t first_share(std::int64_t list, std::int64_t start) const {
    const std::int64_t at = position(list, start);
    const std::int64_t share = share_of(at);
    return before(share + 1) - at < cost.element ? share + 1 : share;
  }
};

/// The begin of a share: an element of a list, and the list's start.
struct Border {
  std::int64_t list;
  std::int64_t element;
  std::int64_t start;
};

/// Finds the borders at two positions of the work, each with half a warp.
__device__ inline void find_borders(const ShareMap& map, std::int64_t from, std::int64_t to, int lane, Border& begin,
                                    Border& end) {
  const std::int64_t wanted = lane / 16 == 0 ? from : to;
  // The list's position if all lists had the same length.
  const auto guess = static_cast<std::int64_t>(static_cast<double>(wanted) / static_cast<double>(map.work) *
                                               static_cast<double>(map.lists.count));
  const std::int64_t low =
      gpu::last_where_by_half_warps(map.lists.count, guess, lane, [&](std::int64_t list) {  // begins no later
        return map.position(list, map.offset(list)) <= wanted;
      });
  Border border{low, map.offset(low), 0};
  border.start = border.element;
  if (low < map.lists.count) {
    const std::int64_t next = map.offset(low + 1);
    const std::int64_t length = next - border.start;
    if (length * map.cost.element > kSnapBytes) {
      const std::int64_t within = (wanted - map.position(low, border.start)) / map.cost.element;
      // The border is moved to a cache line of the content, unless the share begins with the list's first element.
      const std::int64_t in_line = kLineBytes / map.cost.element - 1;
      const std::int64_t element = within > 0 ? (border.start + within + in_line) & ~in_line : border.start;
      if (element >= next) {
        border = {low + 1, next, next};
      } else {
        border.element = element;
      }
    }
  }
  begin = {of_lane(border.list, 0), of_lane(border.element, 0), of_lane(border.start, 0)};
  end = {of_lane(border.list, 16), of_lane(border.element, 16), of_lane(border.start, 16)};
}

}  // namespace upsweep::impl::segmented_reduce
#endif
