// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_sort.cuh: the arguments and the scratch of a sort, which the kernels of all GPU
// rungs share.
#pragma once

#include <cstdint>

#include "cuda/device_lists.cuh"
#include "cuda/scratch_parts.hpp"
#include "problems/lists/segmented_sort/cuda_block_sort.cuh"
#include "upsweep/detail/tuning/segmented_sort.hpp"

namespace upsweep::impl::segmented_sort {

/// Maximum number of elements of a block's tile; longer lists are sorted in runs of this length.
inline constexpr int kRun = gpu::tuning::kSort.run;
inline constexpr int kRunThreads = kRun / kItems;
/// Number of elements of the tiles to which lists are assigned by their starts, and the maximum that a small block
/// sorts.
inline constexpr int kNominalTile = gpu::tuning::kSort.nominal_tile;
inline constexpr int kSmallThreads = gpu::tuning::kSort.small_threads;
inline constexpr int kSmallTile = kSmallThreads * kItems;
/// Lists of more elements are in no tile. Therefore a tile has at most kRun elements.
inline constexpr int kMostInTile = kRun - kNominalTile;

/// The results, on the device, of the pass that checks a call's lists; all zero before it.
struct SortFacts {
  gpu::ListFacts lists;
  unsigned long long long_lists;  ///< their number, above kRunBits bits with the number of their runs
  unsigned long long tiles;       ///< number of tiles with more than kSmallTile elements
};
inline constexpr int kRunBits = 36;

struct LongListRuns {
  std::int64_t start;
  std::int64_t length;
  std::int64_t first_run;  ///< index of its first run among the runs of all long lists
};

/// A tile of whole lists.
struct TileRange {
  std::int64_t first;
  std::int64_t count;
};

/// The addresses of the arrays of the scratch. With a null `memory`, only computes the size.
template <class Word>
struct SortScratch {
  SortFacts* facts;
  unsigned* heads;      ///< a bit per element
  LongListRuns* longs;  ///< lists of more than kMostInTile elements, in any order
  TileRange* tiles;     ///< tiles of more than kSmallTile elements, in any order
  Word* words[2];       ///< runs of long lists; without positions, words[0] is the output
  std::int64_t* positions;
  std::int64_t cleared;  ///< number of bytes from the beginning that must be zero first
  std::int64_t bytes;

  SortScratch(void* memory, const Call& call, bool has_heads, bool has_words) {
    gpu::ScratchParts parts(memory);
    facts = parts.take<SortFacts>(1);
    heads = parts.take<unsigned>(has_heads ? gpu::head_words(call.n) : 0);
    cleared = parts.bytes();
    longs = parts.take<LongListRuns>(has_heads ? call.n / kMostInTile : 0);
    tiles = parts.take<TileRange>(has_heads ? call.n / kNominalTile + 1 : 0);
    const bool with_positions = call.positions != nullptr;
    const std::int64_t elements = has_words ? call.n : 0;
    words[1] = parts.take<Word>(elements);
    words[0] = with_positions ? parts.take<Word>(elements) : static_cast<Word*>(call.out);
    positions = parts.take<std::int64_t>(with_positions ? elements : 0);
    bytes = parts.bytes();
  }
};

/// The arguments of a sort's kernels.
template <class Word>
struct Sort {
  gpu::DeviceLists lists;
  Order<Word> order;
  const Word* content;
  std::int64_t n;
  SortFacts* facts;
  unsigned* heads;
  LongListRuns* longs;
  TileRange* tiles;
  Word* words[2];              ///< [0]: the output, or keys of long lists; [1]: buffer between passes
  std::int64_t* positions[2];  ///< likewise

  [[nodiscard]] __device__ bool is_bad() const { return facts->lists.bad != 0; }
};

/// Returns the number of passes that merge the runs of a list in pairs until there is one. After an even number of
/// passes, the list is in its output.
__host__ __device__ inline int passes_of(std::int64_t length) {
  int passes = 0;
  for (std::int64_t run = kRun; run < length; run *= 2) ++passes;
  return passes;
}

/// Sorts elements first … first+count-1 of the content into buffer `to`. They are one list or, with heads, several
/// lists. With positions, also stores the words if the runs are merged afterwards.
template <class Word, bool kPositions, int kThreads>
__device__ void sort_tile(Tile<Word, kPositions, kThreads>& tile, const Sort<Word>& sort, std::int64_t first, int count,
                          bool has_heads, int to, bool keeps_words, std::int64_t list_start) {
  using Shared = Tile<Word, kPositions, kThreads>;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < count; i += kThreads) {
    const Word bits = sort.content[first + i];
    tile.words[Shared::at(i)] = kPositions ? sort.order.key(bits) : bits;
    if constexpr (kPositions) tile.orders[Shared::at(i)] = static_cast<std::uint16_t>(i);
  }
  for (int w = thread; w < Shared::kHeadWords; w += kThreads) {
    unsigned bits = w == 0 ? 1U : 0U;
    const std::int64_t head = first + std::int64_t{w} * 32;
    if (has_heads && w * 32 < count) {
      const std::int64_t last_word = sort.n / 32;
      const std::int64_t at = head / 32;
      bits =
          __funnelshift_r(sort.heads[at], at < last_word ? sort.heads[at + 1] : 0U, static_cast<unsigned>(head % 32));
    }
    if (w * 32 >= count) {
      bits = ~0U;
    } else if (count - w * 32 < 32) {
      bits |= ~0U << (count - w * 32);
    }
    tile.heads[w] = bits;
  }
  tile.sort(sort.order, count);
  for (int i = thread; i < count; i += kThreads) {
    if constexpr (kPositions) {
      const std::int64_t within = has_heads ? -tile.start_of(i) : first - list_start;
      sort.positions[to][first + i] = within + tile.orders[Shared::at(i)];
      if (keeps_words) sort.words[to][first + i] = tile.words[Shared::at(i)];
    } else {
      sort.words[to][first + i] = tile.words[Shared::at(i)];
    }
  }
  __syncthreads();  // all threads have read the tile before it is used again
}

/// Returns how many of the first `diagonal` elements of the merge of two runs are from the left run. A warp tests 32
/// candidates at a time.
template <class Word, bool kPositions>
__device__ std::int64_t split_of(const Order<Word>& order, const Word* left, std::int64_t left_count, const Word* right,
                                 std::int64_t right_count, std::int64_t diagonal, int lane) {
  const auto key = [&](Word word) { return kPositions ? word : order.key(word); };
  std::int64_t least = diagonal > right_count ? diagonal - right_count : 0;
  std::int64_t most = diagonal < left_count ? diagonal : left_count;
  while (least < most) {
    const std::int64_t step = (most - least + 31) / 32;
    const std::int64_t a = least + lane * step;
    const bool is_taken = a < most && !(key(right[diagonal - 1 - a]) < key(left[a]));
    const int taken = __popc(__ballot_sync(gpu::detail::kAllLanes, is_taken));
    if (taken == 0) break;  // not even `least` is taken
    const std::int64_t next = least + taken * step;
    least += (taken - 1) * step + 1;
    most = next < most ? next : most;
  }
  return least;
}

/// Merges elements run·kRun … of a list in pass number `pass`, which merges runs of kRun·2^pass in pairs.
template <class Word, bool kPositions>
__device__ void merge_tile(Tile<Word, kPositions, kRunThreads>& tile, const Sort<Word>& sort, const LongListRuns& list,
                           std::int64_t run, int pass, std::int64_t (&splits)[2]) {
  using Shared = Tile<Word, kPositions, kRunThreads>;
  const int thread = static_cast<int>(threadIdx.x);
  const int passes = passes_of(list.length);
  const std::int64_t width = std::int64_t{kRun} << pass;
  const std::int64_t begin = run * kRun / (2 * width) * (2 * width);
  const std::int64_t middle = begin + width < list.length ? begin + width : list.length;
  const std::int64_t end = begin + 2 * width < list.length ? begin + 2 * width : list.length;
  const std::int64_t first = run * kRun;
  const std::int64_t last = first + kRun < end ? first + kRun : end;
  const int from = (passes - pass) % 2;
  const int to = 1 - from;
  const Word* const left = sort.words[from] + list.start + begin;
  const Word* const right = sort.words[from] + list.start + middle;
  if (thread < 64) {
    const std::int64_t diagonal = (thread < 32 ? first : last) - begin;
    const std::int64_t split =
        split_of<Word, kPositions>(sort.order, left, middle - begin, right, end - middle, diagonal, thread % 32);
    if (thread % 32 == 0) splits[thread / 32] = split;
  }
  __syncthreads();  // the splits are written
  const std::int64_t left_first = splits[0];
  const std::int64_t right_first = first - begin - left_first;
  const int count = static_cast<int>(last - first);
  const int left_count = static_cast<int>(splits[1] - left_first);
  if (left_count < 0 || left_count > count) {  // lists overlap, and other blocks write what this block reads
    __syncthreads();                           // all threads have read the splits
    return;
  }
  for (int i = thread; i < count; i += kRunThreads) {
    tile.words[Shared::at(i)] = i < left_count ? left[left_first + i] : right[right_first + i - left_count];
    if constexpr (kPositions) tile.orders[Shared::at(i)] = static_cast<std::uint16_t>(i);
  }
  __syncthreads();  // all elements are written
  typename Shared::Own own;
  const int own_first = thread * kItems;
  if (own_first < count) tile.merge(sort.order, 0, left_count, count, own_first, own);
  __syncthreads();  // all threads have read the elements that are overwritten next
  if (own_first < count) tile.put(own, own_first, own_first, count);
  __syncthreads();  // the merged elements are written
  for (int i = thread; i < count; i += kRunThreads) {
    const std::int64_t out = list.start + first + i;
    if constexpr (kPositions) {
      const int source = tile.orders[Shared::at(i)];
      const std::int64_t position =
          list.start + begin +
          (source < left_count ? left_first + source : middle - begin + right_first + source - left_count);
      sort.positions[to][out] = sort.positions[from][position];
      if (pass + 1 == passes) continue;  // no later pass reads the keys
    }
    sort.words[to][out] = tile.words[Shared::at(i)];
  }
  __syncthreads();  // all threads have read the tile before it is used again
}

}  // namespace upsweep::impl::segmented_sort
