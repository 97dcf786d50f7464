// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_shares.cuh: the work of a call of cuda.pipeline in shares, and the search for where a share begins.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_shape.cuh"

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

__device__ __forceinline__ std::int64_t of_lane(std::int64_t value, int lane) {
  return __shfl_sync(gpu::detail::kAllLanes, static_cast<long long>(value), lane);
}

/// The offsets as the search and the loader take them, and where shares begin.
struct ShareMap {
  const GivenLists& lists;
  std::int64_t element_bytes;
  std::int64_t list_bytes;
  std::int64_t first;  ///< offset
  std::int64_t last;
  std::int64_t work;
  int large_bits;
  int small_bits;
  std::int64_t large;  ///< shares
  std::int64_t shares;

  __device__ ShareMap(const GivenLists& given, int element, int result)
      : lists(given),
        element_bytes(element),
        list_bytes((given.kind == BoundKind::int64 ? 8 : 4) + result),
        first(given.bound(given.starts, 0)),
        last(given.end_of(given.count - 1, given.begin, given.bound(given.starts, given.count))),
        work((last - first) * element_bytes + given.count * list_bytes),
        large_bits(bits_of(work)),
        small_bits(clamp(large_bits - 2)),
        large(work / 8 * 7 >> large_bits),
        shares(large + ((work - (large << large_bits) + (1LL << small_bits) - 1) >> small_bits)) {}

  __device__ static int bits_of(std::int64_t work) { return clamp(53 - __clzll(work)); }
  __device__ static int clamp(int bits) {
    return bits < kLeastShareBits ? kLeastShareBits : bits > kMostShareBits ? kMostShareBits : bits;
  }

  /// Whether the first and the last offset alone say that some list is bad.
  __device__ bool are_bad() const {
    return last < first || (last > first && (first < lists.begin || last > lists.end));
  }

  /// An offset, not before the first nor after the last.
  __device__ __forceinline__ std::int64_t offset(std::int64_t i) const {
    const std::int64_t value = lists.bound(lists.starts, i);
    return value < first ? first : value > last ? last : value;
  }
  /// The work before a share.
  __device__ std::int64_t before(std::int64_t share) const {
    const std::int64_t all =
        share <= large ? share << large_bits : (large << large_bits) + ((share - large) << small_bits);
    return all < work ? all : work;
  }
  __device__ std::int64_t share_of(std::int64_t position) const {
    const std::int64_t in_large = large << large_bits;
    return position < in_large ? position >> large_bits : large + ((position - in_large) >> small_bits);
  }
  /// The work before a list.
  __device__ __forceinline__ std::int64_t position(std::int64_t list, std::int64_t start) const {
    return (start - first) * element_bytes + list * list_bytes;
  }
  /// The share that a list's content begins in.
  __device__ std::int64_t first_share(std::int64_t list, std::int64_t start) const {
    const std::int64_t at = position(list, start);
    const std::int64_t share = share_of(at);
    return before(share + 1) - at < element_bytes ? share + 1 : share;
  }
};

/// A share begins at an element of a list, which starts at `start`.
struct Border {
  std::int64_t list;
  std::int64_t element;
  std::int64_t start;
};

/// The borders at two places of the work, each by half a warp.
__device__ inline void find_borders(const ShareMap& map, std::int64_t from, std::int64_t to, int lane, Border& begin,
                                    Border& end) {
  const int half = lane / 16;
  const int probe = lane % 16;
  const std::int64_t wanted = half == 0 ? from : to;
  std::int64_t low = 0;  // the last list that begins no later
  std::int64_t high = map.lists.count + 1;
  // First around where the list were if all were as long: 8^7 … 8, 1 lists before, 1, 8 … 8^7 after.
  {
    const auto guess = static_cast<std::int64_t>(static_cast<double>(wanted) / static_cast<double>(map.work) *
                                                 static_cast<double>(map.lists.count));
    const auto place_of = [&](int p) {
      return p < 8 ? guess - (std::int64_t{1} << (3 * (7 - p))) : guess + (std::int64_t{1} << (3 * (p - 8)));
    };
    const std::int64_t i = place_of(probe);
    const bool is_before = i <= low || (i < high && map.position(i, map.offset(i)) <= wanted);
    const int before = __popc((__ballot_sync(gpu::detail::kAllLanes, is_before) >> (16 * half)) & 0xffffU);
    if (before > 0 && place_of(before - 1) > low) low = place_of(before - 1);
    if (before < 16 && place_of(before) < high) high = place_of(before);
  }
  while (__any_sync(gpu::detail::kAllLanes, high - low > 1)) {
    const auto step = static_cast<std::int64_t>(static_cast<std::uint64_t>(high - low + 16) / 17U);
    const std::int64_t i = low + (probe + 1) * step;
    const bool is_before = i < high && map.position(i, map.offset(i)) <= wanted;
    const int before = __popc((__ballot_sync(gpu::detail::kAllLanes, is_before) >> (16 * half)) & 0xffffU);
    const std::int64_t bound = low + (before + 1) * step;
    high = bound < high ? bound : high;
    low += before * step;
  }
  Border border{low, map.offset(low), 0};
  border.start = border.element;
  if (low < map.lists.count) {
    const std::int64_t next = map.offset(low + 1);
    const std::int64_t length = next - border.start;
    if (length * map.element_bytes > kSnapBytes) {
      const std::int64_t within = (wanted - map.position(low, border.start)) / map.element_bytes;
      // At a line of the content, but not before the list's first element where the share begins with it.
      const std::int64_t in_line = kLineBytes / map.element_bytes - 1;
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
