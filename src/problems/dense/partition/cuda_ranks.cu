// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/cuda_ranks.cu: converts the mask to bits with ranks; reads and writes each element once.
//
// Idea   The kernels are: mark (the bits and the count of 32768 booleans per block), a scan of the blocks' totals by
//        one block, then tiles of the content. A tile's elements are read in order and collected in shared memory, kept
//        elements first. Kept elements and others are then stored in whole lines. The place of a kept element is its
//        rank. The place of another element follows from its position minus its rank.
// Cost   Mask and content read once, all of the content written; 3/16 byte per element written and read again.
// Needs  Any GPU.
// Limit  The memory, and marks and their scan before anything moves. Elements of 1 and 2 bytes move one by one.
// From   As cuda.ranks of the select ladder, which names its sources.
#include "problems/dense/partition/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "cuda/marks.cuh"
#include "upsweep/detail/tuning/select.hpp"
#endif

namespace upsweep::impl::partition {

#if UPSWEEP_HAS_CUDA
namespace {

using gpu::DeviceMarks;

constexpr int kThreads = gpu::tuning::kPartition.threads;
constexpr int kRows = gpu::tuning::kPartition.rows;  // words of a warp
constexpr std::int64_t kTileWords = kThreads / 32 * kRows;
constexpr int kTileElements = static_cast<int>(kTileWords) * 32;

/// A tile of the content, of `length` elements.
template <class E>
__global__ void __launch_bounds__(kThreads)
    partition_tile(const E* content, std::int64_t length, DeviceMarks marks, E* out) {
  __shared__ E staged[kTileElements];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t tile = std::int64_t{blockIdx.x} * kTileWords;
  const std::int64_t first = tile + warp * kRows;
  const std::int64_t total = marks.total();
  const std::int64_t begin = marks.rank_of_word(tile);
  const auto kept = static_cast<int>(marks.rank_of_word(tile + kTileWords) - begin);
  std::uint32_t word = 0;
  int before = 0;  // the tile's kept elements before this word
  if (lane < kRows) {
    word = marks.bits[first + lane];
    before = static_cast<int>(marks.rank_of_word(first + lane) - begin);
  }
  // The first tile may begin before the content, and the last tile may end after it.
  const std::int64_t tile_position = tile * 32 - marks.skew;
  const std::int64_t from = ::max(tile_position, std::int64_t{0});
  const auto elements = static_cast<int>(::min(tile_position + kTileElements, length) - from);

  E items[kRows];
  const std::int64_t own = first * 32 - marks.skew + lane;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const std::int64_t position = own + row * 32;
    if (position >= from && position < length) items[row] = content[position];
  }
  const std::uint32_t lower = (1U << lane) - 1;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    // [guide: ranks]
    const std::uint32_t bits = __shfl_sync(gpu::detail::kAllLanes, word, row);
    const int rank = __shfl_sync(gpu::detail::kAllLanes, before, row) + __popc(bits & lower);
    const std::int64_t position = own + row * 32;
    if (position < from || position >= length) continue;
    const bool is_kept = (bits >> lane & 1) != 0;
    staged[is_kept ? rank : kept + static_cast<int>(position - from) - rank] = items[row];
    // [guide: end]
  }
  __syncthreads();
  gpu::store_run<kThreads>(staged, kept, out + begin);
  gpu::store_run<kThreads>(staged + kept, elements - kept, out + total + (from - begin));
}

__global__ void conclude_partition(DeviceMarks marks, gpu::SelectStatus* status) {
  *status = {kNoIndex, marks.total(), Code::ok};
}

struct RanksScratch {
  explicit RanksScratch(const Call& call, void* memory) : parts(memory) {
    outcome = parts.take<gpu::Outcome>(1);
    marks = gpu::marks_in(parts, call.mask);
  }

  gpu::ScratchParts parts;
  gpu::Outcome* outcome = nullptr;
  DeviceMarks marks{};
};

cudaError_t launch_all(const Call& call, const RanksScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  const std::int64_t length = call.mask.length;
  cudaError_t error = gpu::launch_marks(call.mask, nullptr, scratch.marks, scratch.outcome, stream);
  const auto tiles = static_cast<unsigned>(gpu::divided_up(length + scratch.marks.skew, kTileElements));
  for (const SelectColumn& column : call.columns) {
    if (error != cudaSuccess) return error;
    if (length == 0) break;
    error = gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
      return gpu::detail::launch({.blocks = tiles, .threads = kThreads, .stream = stream}, partition_tile<E>,
                                 static_cast<const E*>(column.data), length, scratch.marks,
                                 static_cast<E*>(column.out));
    });
  }
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_partition, scratch.marks,
                             call.status);
}

Status launch(Call& call, const Policy&) noexcept {
  return gpu::status_of(launch_all(call, RanksScratch(call, call.launch->scratch)));
}

gpu::WorkspaceSize workspace(const Call& call) noexcept {
  return {.scratch = RanksScratch(call, nullptr).parts.bytes()};
}

}  // namespace
#endif

extern const Rung cuda_ranks{.info = {.id = "cuda.ranks",
                                      .idea = "mask to bits; kept elements and others by rank",
                                      .needs = "any GPU",
                                      .traffic = "n read, n written",
                                      .cost = "2n",
                                      .limit = "the memory; marks and their scan before anything moves"},
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::partition
