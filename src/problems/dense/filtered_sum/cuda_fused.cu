// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_fused.cu: one kernel that takes only the time of reading the required bytes.
//
// Idea   Keys are loaded 16 bytes at a time, with eight loads per lane in flight. Each warp has a queue of kept rows.
//        The payload of these rows is loaded 32 rows at a time, and the warp does not wait for it. If many rows are
//        kept, the payload is read in order instead, line by line. Blocks publish their sums, and the last block to end
//        folds them in order.
// Cost   The keys and the touched sectors; one launch. Work n, depth n/threads + log2 n.
// Needs  Any GPU. A few kilobytes of workspace, zero before the first call.
// Limit  The read rate of the memory. Only keys with fewer bits would be faster.
// From   Crystal's fused tiles (Shanbhag, Madden, Yu: SIGMOD 2020), with the payload loaded late as in selection
//        vectors; the last-block reduction of the CUDA samples (threadFenceReduction).
#include <algorithm>
#include <cstdint>

#include "problems/dense/filtered_sum/cuda_rows.cuh"
#include "upsweep/detail/tuning/filtered_sum.hpp"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

// A warp processes tiles of 512 rows, one stride of the whole grid apart. Each lane loads four times 16 bytes of keys
// per tile, and it loads the next tile's keys before it tests the current ones. A unit is 128 rows, one load by all
// lanes. A unit is processed in one of three ways:
//   nothing kept    one comparison, one vote.
//   few kept        The row numbers go into the warp's queue. Whenever the queue holds 32, every lane loads one row's
//                   payload and adds it to its sum when the next 32 are queued. So no lane waits for a load.
//   many kept       The payload is read in order. Lanes load neighboring rows, whole lines at a time, where rows are
//                   kept.
// Blocks fold their warps' sums and publish them as tagged words (upsweep/detail/device.cuh). The last block to end
// folds these in order.

constexpr int kFusedThreads = gpu::tuning::kFused.threads;
constexpr int kFusedWarps = kFusedThreads / 32;
constexpr int kUnits = gpu::tuning::kFused.loads;  // loads of keys per lane and tile; twice this number is in flight
constexpr int kUnitRows = 32 * 4;
constexpr int kTileRows = kUnits * kUnitRows;
// A unit with at least this number of kept rows is read in order.
constexpr int kMany = gpu::tuning::kFused.many;
constexpr int kQueue = gpu::tuning::kFused.queue;  // 31 waiting rows and fewer than kMany new ones
static_assert(31 + kMany <= kQueue);

struct FusedCall {
  DeviceRows rows;
  const std::int64_t* n_at;  ///< the length (at most rows.n), if it is in device memory
  std::int64_t head;         ///< rows before the first 16-byte boundary of the keys
  gpu::detail::Workspace workspace;
  std::int64_t* out;
};

class FusedWarp {
 public:
  __device__ __forceinline__ FusedWarp(const FusedCall& call, std::int64_t* queue)
      : call_(call),
        queue_(queue),
        lane_(static_cast<int>(threadIdx.x) % 32),
        n_(gpu::detail::length_at(call.n_at, call.rows.n)),
        units_(n_ > call.head ? static_cast<unsigned>((n_ - call.head) / kUnitRows) : 0) {}

  /// Processes tiles worker, worker + workers, … The last worker also processes the rows before the first unit and
  /// after the last one. Returns the lane's sum.
  __device__ __forceinline__ Sum run(unsigned worker, unsigned workers) {
    const unsigned tiles = (units_ + kUnits - 1) / kUnits;
    uint4 keys[kUnits];
    if (worker < tiles) load(worker, keys);
    if (worker == workers - 1) sum_ += rest();
    for (unsigned tile = worker; tile < tiles; tile += workers) {
      uint4 ahead[kUnits];
      if (tile + workers < tiles) load(tile + workers, ahead);
#pragma unroll
      for (int u = 0; u < kUnits; ++u) unit(keys[u], call_.head + std::int64_t{tile} * kTileRows + u * kUnitRows);
#pragma unroll
      for (int u = 0; u < kUnits; ++u) keys[u] = ahead[u];
    }
    if (lane_ < count_) take(queue_[lane_]);
    return sum_ + quantity_ * price_;
  }

 private:
  __device__ __forceinline__ void load(unsigned tile, uint4 (&keys)[kUnits]) const {
    const auto* from = reinterpret_cast<const uint4*>(call_.rows.key + call_.head) + lane_;
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const unsigned unit = tile * kUnits + u;
      // The largest key is never kept.
      keys[u] = unit < units_ ? __ldcs(from + std::int64_t{unit} * 32) : make_uint4(~0U, ~0U, ~0U, ~0U);
    }
  }

  __device__ __forceinline__ Sum rest() const {
    const std::int64_t head = n_ < call_.head ? n_ : call_.head;
    const std::int64_t units_end = head + std::int64_t{units_} * kUnitRows;
    Sum sum = 0;
    for (std::int64_t i = lane_; i < head + n_ - units_end; i += 32) {
      sum += call_.rows.product(i < head ? i : units_end + i - head);
    }
    return sum;
  }

  /// Processes rows first … first + 127; the lane has the keys of four of them.
  __device__ __forceinline__ void unit(const uint4& keys, std::int64_t first) {
    const std::uint32_t limit = call_.rows.limit;
    const std::uint32_t least = ::min(::min(keys.x, keys.y), ::min(keys.z, keys.w));
    if (!__any_sync(gpu::detail::kAllLanes, least < limit)) return;
    const bool kept[4] = {keys.x < limit, keys.y < limit, keys.z < limit, keys.w < limit};
    unsigned bits[4];
    int rows = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      bits[j] = __ballot_sync(gpu::detail::kAllLanes, kept[j]);
      rows += __popc(bits[j]);
    }
    if (rows >= kMany) {
      stream(bits, first);
    } else {
      note(kept, bits, first);
    }
  }

  __device__ __forceinline__ void stream(const unsigned (&bits)[4], std::int64_t first) {
    // Row 32·m + lane is row (lane % 4) of lane 8·m + lane / 4.
    const unsigned low = (lane_ & 1) != 0 ? bits[1] : bits[0];
    const unsigned high = (lane_ & 1) != 0 ? bits[3] : bits[2];
    const unsigned mine = ((lane_ & 2) != 0 ? high : low) >> (lane_ / 4);
    const std::int64_t* const quantity = call_.rows.quantity + first + lane_;
    const std::int64_t* const price = call_.rows.price + first + lane_;
    Sum left[4];
    Sum right[4];
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const bool kept = ((mine >> (8 * m)) & 1U) != 0;
      left[m] = kept ? static_cast<Sum>(__ldcs(quantity + 32 * m)) : 0;
      right[m] = kept ? static_cast<Sum>(__ldcs(price + 32 * m)) : 0;
    }
#pragma unroll
    for (int m = 0; m < 4; ++m) sum_ += left[m] * right[m];
  }

  // [guide: queue]
  __device__ __forceinline__ void note(const bool (&kept)[4], const unsigned (&bits)[4], std::int64_t first) {
    const unsigned before = (1U << lane_) - 1;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (kept[j]) queue_[count_ + __popc(bits[j] & before)] = first + lane_ * 4 + j;
      count_ += __popc(bits[j]);
    }
    __syncwarp();  // the queue has been written
    if (count_ < 32) return;
    take(queue_[lane_]);
    count_ -= 32;
    const std::int64_t moved = lane_ < count_ ? queue_[32 + lane_] : 0;
    __syncwarp();  // the rows to be moved have been read
    if (lane_ < count_) queue_[lane_] = moved;
    __syncwarp();  // the queue is complete again
  }

  /// Adds the previous row's product, whose payload has arrived by now, and loads this row's payload.
  __device__ __forceinline__ void take(std::int64_t row) {
    sum_ += quantity_ * price_;
    quantity_ = static_cast<Sum>(__ldg(call_.rows.quantity + row));
    price_ = static_cast<Sum>(__ldg(call_.rows.price + row));
  }
  // [guide: end]

  const FusedCall& call_;
  std::int64_t* const queue_;
  const int lane_;
  const std::int64_t n_;
  const unsigned units_;  ///< whole units after the head: 2^32 units are 2 TB of keys, more than a device's memory
  int count_ = 0;         ///< rows in the queue; the same for all lanes
  Sum sum_ = 0;
  Sum quantity_ = 0;  ///< of the row that was loaded last
  Sum price_ = 0;
};

__global__ void __launch_bounds__(kFusedThreads, gpu::tuning::kFused.resident)
    fused_select_and_sum(const __grid_constant__ FusedCall call) {
  __shared__ std::int64_t queues[kFusedWarps][kQueue];
  __shared__ Sum warp_sums[kFusedWarps];
  __shared__ bool shared_is_last;
  __shared__ unsigned shared_tag;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const bool several = gridDim.x > 1;

  // ---- The block's tiles.
  unsigned tag = 0;  // of the launch; thread 0 requests it while keys are in flight
  if (several && threadIdx.x == 0) tag = gpu::detail::tag_of(call.workspace);
  // Neighboring tiles go to different blocks, so that every multiprocessor gets its share of a short column.
  const unsigned worker = static_cast<unsigned>(warp) * gridDim.x + blockIdx.x;
  FusedWarp rows(call, queues[warp]);
  const Sum sum = fold_block<kFusedWarps>(rows.run(worker, gridDim.x * kFusedWarps), warp_sums);
  if (!several) {
    if (threadIdx.x == 0) *call.out = static_cast<std::int64_t>(sum);
    return;
  }

  // [guide: last block]
  // ---- The blocks' sums, by the last block that ends.
  // A sum may become visible after its block's count. The last block waits for the tagged words, which needs no fence.
  if (threadIdx.x == 0) {
    gpu::detail::put_tagged(call.workspace.words, blockIdx.x, sum, tag);
    shared_is_last = atomicAdd(&call.workspace.control->done, 1U) == gridDim.x - 1;
    shared_tag = tag;
  }
  __syncthreads();  // both are written, and warp_sums has been read
  if (!shared_is_last) return;
  Sum all = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kFusedThreads) {
    gpu::detail::Tagged<Sum> published;
    do {
      published.load(call.workspace.words, b);
    } while (!published.is_there(shared_tag, 1));
    all += published.value(0);
  }
  all = fold_block<kFusedWarps>(all, warp_sums);
  // [guide: end]
  if (threadIdx.x != 0) return;
  *call.out = static_cast<std::int64_t>(all);
  call.workspace.control->done = 0;
  gpu::detail::begin_anew(call.workspace, shared_tag);
}

/// Returns the number of blocks, at most the number that the device runs at a time.
std::int64_t fused_blocks(const detail::FilteredSumCall& call) {
  const std::int64_t tiles = (call.n + kTileRows - 1) / kTileRows;
  return std::clamp<std::int64_t>((tiles + kFusedWarps - 1) / kFusedWarps, 1,
                                  std::int64_t{gpu::tuning::kFused.resident} * call.launch->multiprocessors);
}

gpu::WorkspaceSize workspace(const detail::FilteredSumCall& call) noexcept {
  const std::int64_t words = fused_blocks(call) * gpu::detail::kTaggedWords<Sum>;
  return {.kept = std::int64_t{sizeof(gpu::detail::Control)} + words * std::int64_t{sizeof(unsigned long long)}};
}

Status launch(detail::FilteredSumCall& call, const Policy&) noexcept {
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(call.key) % 16 / sizeof(std::uint32_t));
  const std::int64_t head = std::min<std::int64_t>((4 - over) % 4, call.n);
  const FusedCall fused{.rows = rows_of(call),
                        .n_at = call.n_at,
                        .head = head,
                        .workspace = gpu::detail::workspace_at(call.launch->kept, call.launch->size.kept),
                        .out = call.out};
  call.partials = call.out;
  call.partial_count = 1;
  const auto blocks = static_cast<unsigned>(fused_blocks(call));
  return gpu::status_of(gpu::detail::launch({.blocks = blocks, .threads = kFusedThreads, .stream = call.launch->stream},
                                            fused_select_and_sum, fused));
}

}  // namespace
#endif

extern const Rung cuda_fused{.info = {.id = "cuda.fused",
                                      .idea = "one kernel: keys by 16 bytes, kept rows queued",
                                      .needs = "any GPU",
                                      .traffic = kSectors,
                                      .cost = "n, n/threads + log n",
                                      .limit = "the memory"},
                             .run = launch,
                             .workspace = workspace};

// cuda.zero_copy: the columns stay in host memory; keys are read over the link in order, the payload by row.
//
// Idea   Sending all columns before computing moves 20 bytes per row, of which 16 are wasted if the row is not kept.
//        The kernel of cuda.fused reads pinned host memory directly: the keys in whole lines, and only those payload
//        sectors that contain a kept row. Nothing is copied first.
// Cost   Over the link: 4 bytes per row, and 32 per touched sector (and the link's header for each).
// Needs  Any GPU; columns in pinned, managed or device memory. Pageable memory is an error.
// Limit  The link. Where most rows are kept, sending the columns with the copy engine is equally fast.
// From   Late materialization from host memory: Vortex (VLDB 2025), among others; "Exercise Session 12" (C.
//        Balkesen, ETH Zurich 2012), whose copies take 26 ms.
extern const Rung cuda_zero_copy{.info = {.id = "cuda.zero_copy",
                                          .idea = "columns stay in pinned host memory",
                                          .needs = "any GPU; pinned, managed or device memory",
                                          .traffic = kSectors,
                                          .cost = "n, n/threads",
                                          .limit = "the link",
                                          .host_memory = true},
                                 .run = launch,
                                 .workspace = workspace};

}  // namespace upsweep::impl::filtered_sum
