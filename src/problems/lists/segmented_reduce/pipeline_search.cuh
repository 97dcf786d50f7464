// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_search.cuh: the warp of cuda.pipeline that finds the borders of shares, and
// the lists of each share.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_block.cuh"

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

/// Takes shares by ticket. kBytes is the size of an element.
template <std::uint32_t kBytes>
class ShareSearch : PipelineWarp {
 public:
  __device__ __forceinline__ explicit ShareSearch(const PipelineWarp& warp) : PipelineWarp(warp) {}

  __device__ __forceinline__ void run() {
    const ShareMap map(lists_, kBytes, call_.result_bytes);
    int slot = 0;
    std::uint32_t parity = 0;
    std::int64_t number = blockIdx.x;
    for (int k = 0;; ++k) {
      if (k >= 2) head_.taken[slot].wait(parity ^ 1);
      Share& share = head_.share[slot];
      if (number < map.shares) {
        find_share(map, number, share);
      } else if (lane_ == 0) {
        share.number = -1;
      }
      __syncwarp();
      if (lane_ == 0) head_.found[slot].arrive();
      if (number >= map.shares) return;
      if (lane_ == 0) number = gridDim.x + std::int64_t{atomicAdd(&call_.control->ticket, 1U)};
      number = of_lane(number, 0);
      slot ^= 1;
      if (slot == 0) parity ^= 1;
    }
  }

 private:
  __device__ __forceinline__ void find_share(const ShareMap& map, std::int64_t number, Share& share) const {
    Border begin{};
    Border end{};
    find_borders(map, map.before(number), map.before(number + 1), lane_, begin, end);
    const std::int64_t lists_end = end.list + (end.element > end.start ? 1 : 0);
    const std::int64_t lists = lists_end - begin.list;
    int unit = kMostUnit;
    int units = 0;
    std::int64_t base = begin.list;
    // If offsets descend, borders may also descend: then these lists are also in other shares.
    if (end.list > begin.list || (end.list == begin.list && end.element > begin.element)) {
      const std::int64_t each =
          (end.element - begin.element) * kBytes / lists + (lists_.kind == BoundKind::int64 ? 8 : 4);
      if (each <= kTinyBytes) unit *= 2;
      while (unit > 1 && each * unit > kStageBytes / 4) unit /= 2;
      base = begin.list & ~std::int64_t{unit - 1};
      const std::int64_t needed = (lists_end - base + unit - 1) / unit;
      units = needed <= kMostUnits ? static_cast<int>(needed) : -1;
      bool ascends = end.element >= begin.element;
      std::int64_t before = begin.element;
#pragma unroll 2
      for (int u = 0; u < units; u += 32) {
        const std::int64_t list = base + std::int64_t{u + lane_ + 1} * unit;
        const std::int64_t border = list >= lists_end ? end.element : map.offset(list);
        const std::int64_t left = __shfl_up_sync(gpu::detail::kAllLanes, static_cast<long long>(border), 1);
        ascends = ascends && border >= (lane_ == 0 ? before : left) && border <= end.element;
        before = of_lane(border, 31);
        share.elements[u + lane_] = static_cast<std::uint32_t>(border - begin.element);
      }
      if (!__all_sync(gpu::detail::kAllLanes, ascends)) units = -1;
    }
    if (lane_ != 0) return;
    share.begin = begin;
    share.end = end;
    share.number = number;
    share.lists_end = lists_end;
    share.base = base;
    share.unit = unit;
    share.units = units;
  }
};

}  // namespace upsweep::impl::segmented_reduce
#endif
