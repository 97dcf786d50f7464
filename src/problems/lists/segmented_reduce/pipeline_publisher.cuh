// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_publisher.cuh: the warp of cuda.pipeline that publishes partial folds and
// adds those of a list.
#pragma once

#include "problems/lists/segmented_reduce/pipeline_block.cuh"
#include "problems/lists/segmented_reduce/pipeline_lane_folds.cuh"

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

/// Publishes partial folds of lists that extend over several shares.
template <class R>
class Publisher : PipelineWarp {
 public:
  using Value = typename R::Value;

  __device__ __forceinline__ Publisher(const PipelineWarp& warp, const R& reducer)
      : PipelineWarp(warp), reducer_(reducer), tiles_{reducer} {}

  /// Publishes all partial folds. A list's `missing` decreases by one for each partial fold that continues in the next
  /// share. The share in which the list ends adds their number. The warp that makes `missing` zero folds them all.
  __device__ __forceinline__ void run() {
    const ShareMap map(lists_, kBytes, call_.result_bytes);
    const Partials& partials = call_.partials;
    const auto at = [](char* values, std::int64_t share) { return reinterpret_cast<Value*>(values + share * 16); };
    int slot = 0;
    std::uint32_t parity = 0;
    for (;;) {
      head_.sent[slot].wait(parity);
      const Partial partial = head_.mail[slot].partial;
      Value value;
      memcpy(&value, head_.mail[slot].value, sizeof value);
      __syncwarp();
      if (lane_ == 0) head_.received[slot].arrive();
      parity ^= static_cast<std::uint32_t>(slot);
      slot ^= 1;
      if (partial.role == Role::no_more) return;
      const std::int64_t first = partial.begins_here ? partial.share : map.first_share(partial.list, partial.start);
      const int change = partial.role == Role::ends ? static_cast<int>(partial.share - first) : -1;
      bool is_last = false;
      if (lane_ == 0) {
        if (partial.role == Role::ends) {
          *at(partials.ends, partial.share) = value;
          partials.end[2 * first] = partial.share;
          partials.end[2 * first + 1] = partial.list;
        } else {
          *at(partials.goes_on, partial.share) = value;
        }
        __threadfence();  // orders the partial fold before the count that announces it
        is_last = atomicAdd(partials.missing + first, change) + change == 0;
        __threadfence();  // orders the count before the other partial folds
      }
      if (__shfl_sync(gpu::detail::kAllLanes, is_last ? 1 : 0, 0) == 0) continue;
      __syncwarp();  // extends lane 0's acquire to all lanes
      fold_shares(map, first);
    }
  }

 private:
  __device__ __forceinline__ void fold_shares(const ShareMap& map, std::int64_t first) const {
    const Partials& partials = call_.partials;
    const std::int64_t last = __ldcg(reinterpret_cast<const long long*>(partials.end) + 2 * first);
    const std::int64_t list = __ldcg(reinterpret_cast<const long long*>(partials.end) + 2 * first + 1);
    // If offsets descend, counts may be zero by chance.
    if (last < first || last >= map.shares || list < 0 || list >= lists_.count) return;
    Value sum = reducer_.none();
#pragma unroll 16
    for (std::int64_t s = first + lane_; s < last; s += 32) {
      sum = reducer_.merge(sum, *reinterpret_cast<const Value*>(partials.goes_on + s * 16));
    }
    sum = reducer_.merge(fold_values(reducer_, sum), *reinterpret_cast<const Value*>(partials.ends + last * 16));
    if (lane_ == 0) tiles_.write_wide(list, sum, lists_.bound(lists_.starts, list));
  }

  static constexpr std::uint32_t kBytes = sizeof(typename R::In);

  const R& reducer_;
  InTile<R> tiles_;
};

}  // namespace upsweep::impl::segmented_reduce
#endif
