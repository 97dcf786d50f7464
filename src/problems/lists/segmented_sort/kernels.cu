// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/kernels.cu: the GPU rungs except CUB's for one element size, with the unsigned type
// UPSWEEP_ELEMENT; compiled once for each of the four sizes.
#include <algorithm>

#include "cuda/work_path.cuh"
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#include "problems/lists/segmented_sort/cuda_sort.cuh"
#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/tuning/segmented_sort.hpp"

namespace upsweep::impl::segmented_sort {
namespace {

using gpu::detail::launch;
using Word = UPSWEEP_ELEMENT;

// ------------------------------------------------------------------------------------------------------------- heads

/// Sets the bit of element number `at` in a bitmap of heads.
__device__ void mark_head(unsigned* heads, std::int64_t at) { atomicOr(heads + at / 32, 1U << (at % 32)); }

/// Does the same for the lists of a warp for which `is_there`; all lanes call it. Short lists begin in few consecutive
/// words: the first lane of each word sets all its bits.
__device__ void mark_heads(unsigned* heads, std::int64_t at, bool is_there, std::int64_t content) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // An empty list sets no bit, but its bounds may have any value.
  const unsigned word = at < 0 || at > content ? ~0U : static_cast<unsigned>(at / 32);
  unsigned bits = is_there ? 1U << (at % 32) : 0U;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const unsigned other_word = __shfl_down_sync(gpu::detail::kAllLanes, word, step);
    const unsigned other_bits = __shfl_down_sync(gpu::detail::kAllLanes, bits, step);
    if (lane + step < 32 && other_word == word) bits |= other_bits;
  }
  const unsigned before = __shfl_up_sync(gpu::detail::kAllLanes, word, 1);
  if (bits != 0 && (lane == 0 || before != word)) atomicOr(heads + word, bits);
}

/// Sets a bit where a list begins, and notes the lists that are in no tile.
struct MarkHeads {
  unsigned* heads;
  LongListRuns* longs;
  SortFacts* facts;
  std::int64_t content;
  bool has_gaps;  ///< null lists may leave gaps: then a bit is also set where a list stops

  __device__ void operator()(std::int64_t start, std::int64_t stop, bool is_there) const {
    mark_heads(heads, start, is_there, content);
    if (is_there && has_gaps && stop < content) mark_head(heads, stop);
    if (!is_there || stop - start <= kMostInTile) return;
    const auto runs = static_cast<unsigned long long>((stop - start + kRun - 1) / kRun);
    const unsigned long long before = atomicAdd(&facts->long_lists, (1ULL << kRunBits) | runs);
    const auto index = static_cast<std::int64_t>(before >> kRunBits);
    if (index >= content / kMostInTile) return;  // some list is bad
    longs[index] = {start, stop - start, static_cast<std::int64_t>(before & ((1ULL << kRunBits) - 1))};
  }
};

/// Writes the outcome, in the first thread of a rung's first kernel.
__device__ void report_once(const Sort<Word>& sort, gpu::ListsStatus* status) {
  if (blockIdx.x == 0 && threadIdx.x == 0) gpu::report(sort.lists, sort.n, sort.facts->lists, status);
}

// ------------------------------------------------------------------------------------------------- a list per thread

constexpr int kListThreads = gpu::tuning::kSort.per_list_threads;

template <bool kPositions>
__global__ void __launch_bounds__(kListThreads)
    insert_each(const __grid_constant__ Sort<Word> sort, gpu::ListsStatus* status) {
  report_once(sort, status);
  if (sort.is_bad()) return;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < sort.lists.lists.count; i += stride) {
    if (sort.lists.is_null(i)) continue;
    const std::int64_t start = sort.lists.start(i);
    const std::int64_t count = sort.lists.stop(i) - start;
    const Word* const from = sort.content + start;
    Word* const to = sort.words[0] + start;
    std::int64_t* const positions = sort.positions[0] + start;
    for (std::int64_t j = 0; j < count; ++j) {
      const Word bits = from[j];
      const Word key = sort.order.key(bits);
      std::int64_t at = j;
      if constexpr (kPositions) {
        for (; at > 0 && key < sort.order.key(from[positions[at - 1]]); --at) positions[at] = positions[at - 1];
        positions[at] = j;
      } else {
        for (; at > 0 && key < sort.order.key(to[at - 1]); --at) to[at] = to[at - 1];
        to[at] = bits;
      }
    }
  }
}

// --------------------------------------------------------------------------------------------------- a list per warp

/// Sorts by counting ranks. `content` must not be the output.
template <bool kPositions>
__global__ void __launch_bounds__(kListThreads)
    rank_each(const __grid_constant__ Sort<Word> sort, gpu::ListsStatus* status) {
  report_once(sort, status);
  if (sort.is_bad()) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t stride = std::int64_t{gridDim.x} * (blockDim.x / 32);
  for (std::int64_t i = std::int64_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32; i < sort.lists.lists.count;
       i += stride) {
    if (sort.lists.is_null(i)) continue;
    const std::int64_t start = sort.lists.start(i);
    const std::int64_t count = sort.lists.stop(i) - start;
    for (std::int64_t j = lane; j < count; j += 32) {
      const Word bits = sort.content[start + j];
      const Word key = sort.order.key(bits);
      std::int64_t rank = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        const Word other = sort.order.key(sort.content[start + k]);
        rank += other < key || (other == key && k < j) ? 1 : 0;
      }
      if constexpr (kPositions) {
        sort.positions[0][start + rank] = j;
      } else {
        sort.words[0][start + rank] = bits;
      }
    }
  }
}

// -------------------------------------------------------------------------------------------------- a list per block

template <bool kPositions>
__global__ void __launch_bounds__(kRunThreads, gpu::tuning::kSort.resident_runs)
    sort_each(const __grid_constant__ Sort<Word> sort, gpu::ListsStatus* status) {
  __shared__ Tile<Word, kPositions, kRunThreads> tile;
  __shared__ std::int64_t splits[2];
  report_once(sort, status);
  if (sort.is_bad()) return;
  for (std::int64_t i = blockIdx.x; i < sort.lists.lists.count; i += gridDim.x) {
    if (sort.lists.is_null(i)) continue;
    const std::int64_t start = sort.lists.start(i);
    const LongListRuns list{start, sort.lists.stop(i) - start, 0};
    const int passes = passes_of(list.length);
    for (std::int64_t first = 0; first < list.length; first += kRun) {
      const int count = static_cast<int>(::min(std::int64_t{kRun}, list.length - first));
      sort_tile<Word, kPositions>(tile, sort, start + first, count, false, passes % 2, passes > 0, start);
    }
    for (int pass = 0; pass < passes; ++pass) {
      for (std::int64_t run = 0; run * kRun < list.length; ++run) {
        merge_tile<Word, kPositions>(tile, sort, list, run, pass, splits);
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- tiles
// Tile number t contains the lists that begin among elements t·kNominalTile …, except a long one.

inline constexpr int kWindow = kRun / 32;  // words of heads: the tile's, and those in which its last list may end
inline constexpr int kNone = 1 << 30;

template <bool kPositions>
__global__ void __launch_bounds__(kSmallThreads, sizeof(Word) == 8 ? gpu::tuning::kSort.resident_wide
                                                                   : gpu::tuning::kSort.resident_tiles)
    sort_tiles(const __grid_constant__ Sort<Word> sort, gpu::ListsStatus* status) {
  __shared__ Tile<Word, kPositions, kSmallThreads> tile;
  __shared__ int first_head;
  __shared__ int last_head;
  __shared__ int next_head;
  report_once(sort, status);
  const auto limit = static_cast<std::int64_t>(sort.facts->lists.end);
  const std::int64_t base = std::int64_t{blockIdx.x} * kNominalTile;
  if (sort.is_bad() || base >= limit) return;
  if (threadIdx.x == 0) {
    first_head = next_head = kNone;
    last_head = -1;
  }
  __syncthreads();  // the heads are initialized
  const int word = static_cast<int>(threadIdx.x);
  const std::int64_t left = limit - (base + std::int64_t{word} * 32);
  if (word < kWindow && left >= 0) {
    unsigned bits = left == 0 ? 0U : sort.heads[base / 32 + word];
    const unsigned end = left < 32 ? 1U << left : 0U;
    if (left < 32) bits &= end - 1;
    const bool is_in_tile = word < kNominalTile / 32;
    if (is_in_tile && bits != 0) {
      atomicMin(&first_head, word * 32 + __ffs(static_cast<int>(bits)) - 1);
      atomicMax(&last_head, word * 32 + 31 - __clz(static_cast<int>(bits)));
    }
    const unsigned ends = is_in_tile ? end : bits | end;
    if (ends != 0) atomicMin(&next_head, word * 32 + __ffs(static_cast<int>(ends)) - 1);
  }
  __syncthreads();  // the heads are found
  if (first_head == kNone) return;
  const int end = next_head - last_head > kMostInTile ? last_head : next_head;
  const int count = end - first_head;
  if (count == 0) return;
  if (count <= kSmallTile) {
    sort_tile<Word, kPositions>(tile, sort, base + first_head, count, true, 0, false, 0);
  } else if (threadIdx.x == 0) {
    sort.tiles[atomicAdd(&sort.facts->tiles, 1ULL)] = {base + first_head, count};
  }
}

/// Returns the long list that contains a run.
__device__ LongListRuns list_of(const Sort<Word>& sort, std::int64_t run) {
  const auto count = ::min(static_cast<std::int64_t>(sort.facts->long_lists >> kRunBits), sort.n / kMostInTile);
  return sort
      .longs[gpu::last_where(0, count - 1, [&](std::int64_t list) { return sort.longs[list].first_run <= run; })];
}

__device__ std::int64_t long_runs(const Sort<Word>& sort) {
  return static_cast<std::int64_t>(sort.facts->long_lists & ((1ULL << kRunBits) - 1));
}

/// Sorts the tiles that were too large for sort_tiles(), and the runs of long lists.
template <bool kPositions>
__global__ void __launch_bounds__(kRunThreads, gpu::tuning::kSort.resident_runs)
    sort_runs(const __grid_constant__ Sort<Word> sort) {
  __shared__ Tile<Word, kPositions, kRunThreads> tile;
  if (sort.is_bad()) return;
  const auto tiles = static_cast<std::int64_t>(sort.facts->tiles);
  const std::int64_t items = tiles + long_runs(sort);
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    if (item < tiles) {
      const TileRange range = sort.tiles[item];
      sort_tile<Word, kPositions>(tile, sort, range.first, static_cast<int>(range.count), true, 0, false, 0);
      continue;
    }
    const LongListRuns list = list_of(sort, item - tiles);
    const std::int64_t first = (item - tiles - list.first_run) * kRun;
    if (first >= list.length) continue;  // if lists overlap, not all of them are noted
    const int count = static_cast<int>(::min(std::int64_t{kRun}, list.length - first));
    const int passes = passes_of(list.length);
    sort_tile<Word, kPositions>(tile, sort, list.start + first, count, false, passes % 2, passes > 0, list.start);
  }
}

template <bool kPositions>
__global__ void __launch_bounds__(kRunThreads, gpu::tuning::kSort.resident_runs)
    merge_runs(const __grid_constant__ Sort<Word> sort, int pass) {
  __shared__ Tile<Word, kPositions, kRunThreads> tile;
  __shared__ std::int64_t splits[2];
  if (sort.is_bad()) return;
  const std::int64_t runs = long_runs(sort);
  for (std::int64_t run = blockIdx.x; run < runs; run += gridDim.x) {
    const LongListRuns list = list_of(sort, run);
    if (passes_of(list.length) <= pass || (run - list.first_run) * kRun >= list.length) continue;
    merge_tile<Word, kPositions>(tile, sort, list, run - list.first_run, pass, splits);
  }
}

// ------------------------------------------------------------------------------------------------------------- calls

SortScratch<Word> scratch_at(Way way, const Call& call, void* memory) {
  return SortScratch<Word>(memory, call, way == Way::tiles, way != Way::thread_per_list);
}

template <bool kPositions>
cudaError_t launch_tiles(const Sort<Word>& sort, const Call& call, gpu::ListsStatus* status) {
  const auto stream = call.launch->stream;
  const auto tiles = static_cast<unsigned>(call.n / kNominalTile + 1);
  cudaError_t error =
      launch({.blocks = tiles, .threads = kSmallThreads, .stream = stream}, sort_tiles<kPositions>, sort, status);
  const std::int64_t items = call.n / kNominalTile + call.n / kMostInTile + 1;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(items, gpu::tuning::kSort.blocks * std::max(call.launch->multiprocessors, 1)));
  if (error == cudaSuccess && call.n > kSmallTile) {
    error = launch({.blocks = blocks, .threads = kRunThreads, .stream = stream}, sort_runs<kPositions>, sort);
  }
  for (int pass = 0; error == cudaSuccess && pass < passes_of(call.n); ++pass) {
    error = launch({.blocks = blocks, .threads = kRunThreads, .stream = stream}, merge_runs<kPositions>, sort, pass);
  }
  return error;
}

template <bool kPositions>
cudaError_t launch_way(Way way, Sort<Word> sort, const Call& call, Word* copy) {
  const gpu::Launch& at = *call.launch;
  const std::int64_t lists = call.lists.count;
  const auto grid = [&](std::int64_t threads, unsigned block) {
    return gpu::detail::Grid{.blocks = gpu::blocks_for(threads, at), .threads = block, .stream = at.stream};
  };
  if (way == Way::tiles) return launch_tiles<kPositions>(sort, call, call.status);
  if (way == Way::thread_per_list) return launch(grid(lists, kListThreads), insert_each<kPositions>, sort, call.status);
  if (way == Way::block_per_list) {
    return launch(grid(lists * gpu::kStrideThreads, kRunThreads), sort_each<kPositions>, sort, call.status);
  }
  if (call.out == call.content && call.n > 0) {  // ranks must not be computed from elements that are overwritten
    const auto bytes = static_cast<std::size_t>(call.n) * sizeof(Word);
    const cudaError_t error = cudaMemcpyAsync(copy, call.content, bytes, cudaMemcpyDeviceToDevice, at.stream);
    if (error != cudaSuccess) return error;
    sort.content = copy;
  }
  return launch(grid(lists * 32, kListThreads), rank_each<kPositions>, sort, call.status);
}

}  // namespace

template <>
Status sort_by<Word>(Way way, const Call& call) noexcept {
  const SortScratch<Word> scratch = scratch_at(way, call, call.launch->scratch);
  const Sort<Word> sort{.lists = {call.lists},
                        .order = order_of<Word>(call.type, call.descending, call.nan_first),
                        .content = static_cast<const Word*>(call.content),
                        .n = call.n,
                        .facts = scratch.facts,
                        .heads = scratch.heads,
                        .longs = scratch.longs,
                        .tiles = scratch.tiles,
                        .words = {scratch.words[0], scratch.words[1]},
                        .positions = {call.positions, scratch.positions}};
  const auto stream = call.launch->stream;
  cudaError_t error = cudaMemsetAsync(scratch.facts, 0, static_cast<std::size_t>(scratch.cleared), stream);
  if (error == cudaSuccess && way == Way::tiles) {
    const MarkHeads mark{scratch.heads, scratch.longs, scratch.facts, call.n, call.lists.valid.is_given()};
    error = gpu::launch_check(call.lists, call.n, &scratch.facts->lists, mark, *call.launch);
  } else if (error == cudaSuccess) {
    error = gpu::launch_check(call.lists, call.n, &scratch.facts->lists, gpu::VisitNothing{}, *call.launch);
  }
  if (error == cudaSuccess) {
    error = call.positions != nullptr ? launch_way<true>(way, sort, call, scratch.words[1])
                                      : launch_way<false>(way, sort, call, scratch.words[1]);
  }
  return gpu::status_of(error);
}

template <>
std::int64_t scratch_of<Word>(Way way, const Call& call) noexcept {
  return scratch_at(way, call, nullptr).bytes;
}

}  // namespace upsweep::impl::segmented_sort
