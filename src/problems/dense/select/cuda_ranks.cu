// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cuda_ranks.cu: converts the mask to bits with ranks: new offsets and places of elements.
//
// Idea   cpu.compress on a GPU. The first kernel writes the bits and the count of 32768 booleans per block, and one
//        block of a second kernel scans these counts. Then tiles of the content are moved. Kept elements of a tile are
//        collected in shared memory and stored in whole lines, or stored directly if there are few. Other threads write
//        the offsets. Blocks of elements do not read the bounds of lists, so no list unbalances them. If lists are not
//        adjacent, offsets are a scan of differences of ranks. Then elements are moved by tiles of the result: each
//        element finds its list, and finds its place by a search in the ranks.
// Cost   Mask and content of the lists read once, kept elements written; 3/16 byte per element written and read again;
//        24 bytes per list with int64 bounds.
// Needs  Any GPU.
// Limit  Marks and their scan take a tenth of the time for 8-byte elements; one pass with look-ahead would avoid this.
//        Elements of 1 and 2 bytes move one by one. Lists that are not adjacent wait for searches.
// From   Stream compaction by ranks (Blelloch 1990); rank and select of bit vectors (Jacobson 1989).
#include "problems/dense/select/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "cuda/marks.cuh"
#include "upsweep/detail/tuning/select.hpp"
#endif

namespace upsweep::impl::select {

#if UPSWEEP_HAS_CUDA
namespace {

using gpu::DeviceMarks;

constexpr int kTakeThreads = gpu::tuning::kSelect.threads;
constexpr int kTakeRows = gpu::tuning::kSelect.rows;  // words of a warp
constexpr std::int64_t kTakeWords = kTakeThreads / 32 * kTakeRows;
constexpr int kTakeElements = static_cast<int>(kTakeWords) * 32;
constexpr int kFew =
    kTakeElements / gpu::tuning::kSelect.few;  // a tile with at most this number of kept elements stores them directly

/// Moves the kept elements of a tile of the content.
template <class E>
__global__ void __launch_bounds__(kTakeThreads)
    take_kept(const E* content, DeviceMarks marks, std::int64_t capacity, E* out) {
  __shared__ E staged[kTakeElements];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t tile = std::int64_t{blockIdx.x} * kTakeWords;
  const std::int64_t first = tile + threadIdx.x / 32 * kTakeRows;
  const std::int64_t total = marks.total();
  const std::int64_t begin = marks.rank_of_word(tile);
  const auto count = static_cast<int>(marks.rank_of_word(tile + kTakeWords) - begin);
  std::uint32_t word = 0;
  int place = 0;
  if (lane < kTakeRows) {
    word = marks.bits[first + lane];
    place = static_cast<int>(marks.rank_of_word(first + lane) - begin);
  }
  if (count == 0 || total > capacity) return;  // after the loads, which would otherwise wait for each other

  E items[kTakeRows];
  std::uint32_t words[kTakeRows];
  const std::int64_t from = first * 32 - marks.skew + lane;
#pragma unroll
  for (int row = 0; row < kTakeRows; ++row) {
    words[row] = __shfl_sync(gpu::detail::kAllLanes, word, row);
    if ((words[row] >> lane & 1) != 0) items[row] = content[from + row * 32];
  }
  const std::uint32_t lower = (1U << lane) - 1;
  if (count <= kFew) {
#pragma unroll
    for (int row = 0; row < kTakeRows; ++row) {
      const int to = __shfl_sync(gpu::detail::kAllLanes, place, row) + __popc(words[row] & lower);
      if ((words[row] >> lane & 1) != 0) out[begin + to] = items[row];
    }
    return;
  }
#pragma unroll
  for (int row = 0; row < kTakeRows; ++row) {
    const int to = __shfl_sync(gpu::detail::kAllLanes, place, row) + __popc(words[row] & lower);
    if ((words[row] >> lane & 1) != 0) staged[to] = items[row];
  }
  __syncthreads();
  gpu::store_run<kTakeThreads>(staged, count, out + begin);
}

constexpr int kOffsetThreads = gpu::tuning::kSelect.offset_threads;
constexpr int kOffsetItems = gpu::tuning::kSelect.offset_items;

/// out[i] ← the rank of bound i, for n lists. Also checks the lists. `out` is null if no offsets are requested.
template <class Offsets>
__global__ void __launch_bounds__(kOffsetThreads)
    rank_bounds(Offsets bound, std::int64_t n, std::int64_t length, DeviceMarks marks, gpu::Outcome* outcome,
                std::int64_t* out) {
  const std::int64_t first = std::int64_t{blockIdx.x} * (kOffsetThreads * kOffsetItems) + threadIdx.x;
  std::int64_t here[kOffsetItems];
  std::int64_t next[kOffsetItems];
#pragma unroll
  for (int k = 0; k < kOffsetItems; ++k) {
    const std::int64_t i = first + k * kOffsetThreads;
    here[k] = next[k] = 0;
    if (n > 0 && i <= n) {
      here[k] = bound(i);
      next[k] = i < n ? bound(i + 1) : here[k];
    }
  }
#pragma unroll
  for (int k = 0; k < kOffsetItems; ++k) {
    const std::int64_t i = first + k * kOffsetThreads;
    if (i > n) break;
    const bool bad = here[k] != next[k] && gpu::is_bad(here[k], next[k], length);
    if (bad) atomicMax(&outcome->not_bad, ~static_cast<unsigned long long>(i));
    // The bounds of bad lists and of empty lists may have any value.
    if (out != nullptr) out[i] = marks.rank(::min(::max(here[k], std::int64_t{0}), length));
  }
}

/// Sets the status of a call with adjacent lists or none.
__global__ void conclude_ranks(gpu::MovedLists lists, DeviceMarks marks, std::int64_t capacity,
                               const gpu::Outcome* outcome, gpu::SelectStatus* status) {
  if (outcome->not_bad != 0) {
    const auto bad = static_cast<std::int64_t>(~outcome->not_bad);
    *status = {bad, 0, lists.check(bad)};
    return;
  }
  const std::int64_t kept = marks.total();
  *status = {kNoIndex, kept, kept <= capacity ? Code::ok : Code::unequal_lengths};
}

/// Returns the number of kept elements of a list, or a negative value if the list is bad.
struct KeptOfList {
  gpu::MovedLists lists;
  DeviceMarks marks;
  __device__ std::int64_t operator()(std::int64_t i) const {
    const gpu::Extent extent = lists.at(i);
    return extent.length <= 0 ? extent.length : marks.rank(extent.start + extent.length) - marks.rank(extent.start);
  }
};

/// Finds the source of each result by its rank.
struct KeptElements {
  gpu::MovedLists lists;
  DeviceMarks marks;
  __device__ std::int64_t shift(std::int64_t list, std::int64_t begin) const {
    return marks.rank(lists.start(list)) - begin;
  }
  __device__ std::int64_t position(std::int64_t rank) const { return marks.position(rank); }
};

// ------------------------------------------------------------------------------------------------------------ launches

bool is_adjacent(const detail::SelectCall& call) {
  return !call.has_lists || (call.lists.are_adjacent() && !call.lists.valid.is_given());
}

struct RanksScratch {
  explicit RanksScratch(const detail::SelectCall& call, void* memory) : parts(memory) {
    outcome = parts.take<gpu::Outcome>(1);
    marks = gpu::marks_in(parts, call.mask);
    if (is_adjacent(call)) return;
    totals = parts.take<std::int64_t>(gpu::chunk_totals(call.lists.count));
    offsets = call.out_offsets;
    if (offsets == nullptr) offsets = parts.take<std::int64_t>(call.lists.count + 1);
    if (!call.columns.empty()) firsts = parts.take<std::int64_t>(gpu::tiles_of(call.capacity, gpu::kTile) + 1);
  }

  gpu::ScratchParts parts;
  gpu::Outcome* outcome = nullptr;
  DeviceMarks marks{};
  // Only for lists that are not adjacent:
  std::int64_t* totals = nullptr;
  std::int64_t* offsets = nullptr;
  std::int64_t* firsts = nullptr;
};

cudaError_t launch_columns(const detail::SelectCall& call, const DeviceMarks& marks) {
  const auto tiles = static_cast<unsigned>(gpu::divided_up(call.mask.length + marks.skew, kTakeElements));
  if (tiles == 0) return cudaSuccess;
  for (const SelectColumn& column : call.columns) {
    const cudaError_t error =
        gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
          return gpu::detail::launch({.blocks = tiles, .threads = kTakeThreads, .stream = call.launch->stream},
                                     take_kept<E>, static_cast<const E*>(column.data), marks, call.capacity,
                                     static_cast<E*>(column.out));
        });
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t launch_rank_bounds(const detail::SelectCall& call, const RanksScratch& scratch) {
  // Lists of one size cannot be bad. Without offsets to write, there may be more of them than fit any memory.
  if (call.lists.has_size && call.out_offsets == nullptr) return cudaSuccess;
  const std::int64_t n = call.lists.count;
  const auto blocks = static_cast<unsigned>(gpu::divided_up(n + 1, kOffsetThreads * kOffsetItems));
  const gpu::detail::Grid grid{.blocks = blocks, .threads = kOffsetThreads, .stream = call.launch->stream};
  return gpu::visit_offsets(call.lists, [&]<class Offsets>(const Offsets& offsets) {
    return gpu::detail::launch(grid, rank_bounds<Offsets>, offsets, n, call.mask.length, scratch.marks, scratch.outcome,
                               call.out_offsets);
  });
}

cudaError_t launch_adjacent(const detail::SelectCall& call, const RanksScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  cudaError_t error =
      gpu::launch_marks(call.mask, call.has_lists ? &call.lists : nullptr, scratch.marks, scratch.outcome, stream);
  if (error == cudaSuccess) error = launch_columns(call, scratch.marks);
  if (error == cudaSuccess && call.has_lists) error = launch_rank_bounds(call, scratch);
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_ranks,
                             gpu::MovedLists(call.lists, call.mask.length), scratch.marks, call.capacity,
                             scratch.outcome, call.status);
}

cudaError_t launch_anywhere(const detail::SelectCall& call, const RanksScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  const gpu::MovedLists lists(call.lists, call.mask.length);
  const std::int64_t n = call.lists.count;
  cudaError_t error = gpu::launch_marks(call.mask, nullptr, scratch.marks, scratch.outcome, stream);
  if (error == cudaSuccess) {
    error = gpu::launch_offsets(KeptOfList{lists, scratch.marks}, n, scratch.offsets, scratch.totals, stream);
  }
  if (error == cudaSuccess) {
    error = gpu::launch_conclude(lists, scratch.offsets, call.capacity, scratch.outcome, call.status, stream);
  }
  if (error != cudaSuccess || call.columns.empty() || call.capacity == 0 || n == 0) return error;
  error =
      gpu::launch_first_lists(scratch.offsets, n, call.capacity, gpu::kTile, scratch.outcome, scratch.firsts, stream);
  for (const SelectColumn& column : call.columns) {
    if (error != cudaSuccess) return error;
    error = gpu::launch_gather(column.element_size, column.data, column.out, call.capacity,
                               KeptElements{lists, scratch.marks}, scratch.offsets, scratch.firsts, scratch.outcome,
                               stream);
  }
  return error;
}

Status launch(detail::SelectCall& call, const Policy&) noexcept {
  const RanksScratch scratch(call, call.launch->scratch);
  return gpu::status_of(is_adjacent(call) ? launch_adjacent(call, scratch) : launch_anywhere(call, scratch));
}

gpu::WorkspaceSize workspace(const detail::SelectCall& call) noexcept {
  return {.scratch = RanksScratch(call, nullptr).parts.bytes()};
}

}  // namespace
#endif

extern const Rung cuda_ranks{.info = {.id = "cuda.ranks",
                                      .idea = "mask to bits; offsets and places are ranks",
                                      .needs = "any GPU",
                                      .traffic = "n read, kept written, once",
                                      .cost = "2n + lists",
                                      .limit = "the memory; marks and their scan before anything moves"},
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::select
