// SPDX-License-Identifier: Apache-2.0
// cuda/moved_lists.cuh: lists, masks and elements for kernels that move elements, and offsets of lists.
#pragma once

#if UPSWEEP_HAS_CUDA
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "core/list_length.hpp"
#include "cuda/device_lists.cuh"
#include "cuda/scratch_parts.hpp"
#include "cuda/work_path.cuh"
#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/lists.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::gpu {

/// Maximum number of blocks of a launch. It also limits tiles and work units, because bad bounds may claim more
/// elements than any memory can hold.
inline constexpr std::int64_t kMostBlocks = tuning::kMoved.most_blocks;

// -------------------------------------------------------------------------------------------------------- lists, masks

/// The place of a list. A bad list has a negative length.
struct Extent {
  std::int64_t start;
  std::int64_t length;
};

/// Lists of any kind, in a content of `content` elements. Their kind is the same for all threads.
struct MovedLists {
  const void* starts;
  const void* stops;
  const void* sizes;  ///< of list views, which have no stops; otherwise null
  std::int64_t count;
  std::int64_t size;  ///< if all lists have one size
  std::int64_t content;
  DeviceMask valid;
  Type type;
  bool has_size;
  bool has_nulls;

  MovedLists(const Lists& lists, std::int64_t elements, const void* view_sizes = nullptr)
      : starts(lists.starts),
        stops(lists.stops),
        sizes(view_sizes),
        count(lists.count),
        size(lists.size),
        content(elements),
        valid(lists.valid),
        type(lists.type),
        has_size(lists.has_size),
        has_nulls(lists.valid.is_given()) {}

  __device__ __forceinline__ std::int64_t bound(const void* bounds, std::int64_t i) const {
    return bound_at(bounds, type, i);
  }
  __device__ __forceinline__ std::int64_t start(std::int64_t i) const { return has_size ? i * size : bound(starts, i); }

  /// Returns the fault of list i, or ok.
  __device__ Code check(std::int64_t i) const {
    if (has_size || (has_nulls && !valid[i])) return Code::ok;
    const std::int64_t from = bound(starts, i);
    if (sizes == nullptr) return check_bounds(from, bound(stops, i), content);
    const std::int64_t length = bound(sizes, i);
    if (length == 0) return Code::ok;
    if (length < 0) return Code::stop_before_start;
    if (from < 0) return Code::negative_start;
    return length > content || from > content - length ? Code::stop_past_end : Code::ok;
  }

  /// Returns the range of the content that adjacent lists cover: nothing if a list is bad, or all are empty.
  __device__ Extent covered() const {
    if (count == 0) return {0, 0};
    const std::int64_t first = start(0);
    const std::int64_t stop = has_size ? count * size : bound(stops, count - 1);
    return is_bad(first, stop, content) ? Extent{0, 0} : Extent{first, stop - first};
  }

  /// Returns the length of a list that is not null, by its start and its stop or size, if it has one. It is negative
  /// for a bad list.
  __device__ __forceinline__ std::int64_t length_of(std::int64_t from, std::int64_t to) const {
    if (has_size) return ::min(size, content - from);  // the last list of an array may be shorter
    if (sizes != nullptr) {
      const bool bad = to < 0 || from < 0 || to > content || from > content - to;
      return to != 0 && bad ? -1 : to;
    }
    const bool bad = to < from || from < 0 || to > content;  // is_bad() would have more branches with nvcc here
    return from != to && bad ? -1 : to - from;
  }
  __device__ __forceinline__ Extent at(std::int64_t i) const {
    if (has_nulls && !valid[i]) return {0, 0};
    if (has_size) return {i * size, length_of(i * size, 0)};
    const std::int64_t from = bound(starts, i);
    const std::int64_t length = length_of(from, bound(sizes != nullptr ? sizes : stops, i));
    return {length == 0 ? 0 : from, length};
  }
};

/// The length of a list as a count; negative for a bad list.
struct LengthOfList {
  MovedLists lists;
  __device__ std::int64_t operator()(std::int64_t i) const { return lists.at(i).length; }
};

/// The source of elements of results that are whole lists: see gather_tile().
struct ListElements {
  MovedLists lists;
  __device__ std::int64_t shift(std::int64_t list, std::int64_t begin) const { return lists.start(list) - begin; }
  __device__ static std::int64_t position(std::int64_t element) { return element; }
};

// ------------------------------------------------------------------------------------------------------------ elements

/// An element that is moved unchanged, by words that its alignment allows.
template <int kBytes, class Word>
struct Moved {
  Word words[kBytes / int{sizeof(Word)}];
};

/// Calls f(std::type_identity<Moved<…>>{}) for elements of `bytes` bytes at such addresses.
template <class F>
auto visit_element(std::int64_t bytes, const void* content, const void* out, F f) {
  const auto addresses = reinterpret_cast<std::uintptr_t>(content) | reinterpret_cast<std::uintptr_t>(out);
  const auto by = [&]<int kBytes, class Word>() {
    return addresses % sizeof(Word) == 0 ? f(std::type_identity<Moved<kBytes, Word>>{})
                                         : f(std::type_identity<Moved<kBytes, std::uint8_t>>{});
  };
  if (bytes == 1) return f(std::type_identity<Moved<1, std::uint8_t>>{});
  if (bytes == 2) return by.template operator()<2, std::uint16_t>();
  if (bytes == 4) return by.template operator()<4, std::uint32_t>();
  if (bytes == 8) return by.template operator()<8, std::uint64_t>();
  if (addresses % 16 == 0) return f(std::type_identity<Moved<16, uint4>>{});
  return by.template operator()<16, std::uint64_t>();
}

// ------------------------------------------------------------------------------------------------------------- offsets
// Three kernels convert counts of lists to offsets. The first sums chunks, the second scans these sums with one block,
// and the third processes the chunks again. A bad list has a negative count, and so has everything that follows it; see
// core/list_length.hpp.

using Extend = impl::Extend;

inline constexpr int kChunkThreads = tuning::kMoved.chunk_threads;
inline constexpr int kChunkRows = tuning::kMoved.chunk_rows;
inline constexpr std::int64_t kChunk = kChunkThreads * kChunkRows;
inline constexpr int kTotalThreads = tuning::kMoved.total_threads;
inline constexpr int kTotalItems = tuning::kMoved.total_items;

/// Returns the number of totals of chunks, plus one.
constexpr std::int64_t chunk_totals(std::int64_t lists) { return divided_up(lists, kChunk) + 1; }

/// offsets[i + 1] ← count(i), totals[c] ← the sum of chunk c.
template <class Count>
__global__ void __launch_bounds__(kChunkThreads)
    measure_chunks(Count count, std::int64_t n, std::int64_t* offsets, std::int64_t* totals) {
  __shared__ std::int64_t warps[kChunkThreads / 32];
  const std::int64_t first = std::int64_t{blockIdx.x} * kChunk + threadIdx.x;
  constexpr int kAtOnce =
      tuning::kMoved.chunk_loads;  // loads before stores: for the compiler, a store could change the loaded values
  std::int64_t sum = 0;
  for (int row = 0; row < kChunkRows; row += kAtOnce) {
    std::int64_t counts[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t i = first + (row + k) * kChunkThreads;
      counts[k] = i < n ? count(i) : 0;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t i = first + (row + k) * kChunkThreads;
      if (i < n) offsets[i + 1] = counts[k];
      sum = Extend{}(sum, counts[k]);
    }
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
  sum = detail::fold_lanes(Extend{}, sum, lane);
  if (lane == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kChunkThreads / 32; ++warp) sum = Extend{}(sum, warps[warp]);
  totals[blockIdx.x] = sum;
}

/// totals[0 … n] ← their exclusive scan, by one block.
template <int kThreads>
__global__ void __launch_bounds__(kThreads) scan_totals(std::int64_t* totals, std::int64_t n) {
  __shared__ std::int64_t warps[32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  std::int64_t before = 0;
  for (std::int64_t tile = 0; tile < n; tile += kThreads * kTotalItems) {
    const std::int64_t first = tile + static_cast<std::int64_t>(threadIdx.x) * kTotalItems;
    std::int64_t items[kTotalItems];
#pragma unroll
    for (int k = 0; k < kTotalItems; ++k) items[k] = first + k < n ? totals[first + k] : 0;
    std::int64_t own = items[0];
#pragma unroll
    for (int k = 1; k < kTotalItems; ++k) own = Extend{}(own, items[k]);
    const std::int64_t inclusive = detail::scan_lanes(Extend{}, own, lane);
    if (lane == 31) warps[warp] = inclusive;
    const std::int64_t left = detail::shuffle_up(inclusive, 1);
    __syncthreads();
    if (warp == 0) warps[lane] = detail::scan_lanes(Extend{}, lane < kThreads / 32 ? warps[lane] : 0, lane);
    __syncthreads();
    std::int64_t offset = before;
    if (warp > 0) offset = Extend{}(offset, warps[warp - 1]);
    if (lane > 0) offset = Extend{}(offset, left);
#pragma unroll
    for (int k = 0; k < kTotalItems; ++k) {
      if (first + k < n) totals[first + k] = offset;
      offset = Extend{}(offset, items[k]);
    }
    before = Extend{}(before, warps[31]);
    __syncthreads();
  }
  if (threadIdx.x == 0) totals[n] = before;
}

/// Converts counts at offsets[i + 1] to offsets, after those of the earlier chunks.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    add_chunks(std::int64_t n, std::int64_t* offsets, const std::int64_t* totals) {
  __shared__ std::int64_t warps[kThreads / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t first = std::int64_t{blockIdx.x} * kChunk + warp * (kChunkRows * 32) + lane;
  std::int64_t items[kChunkRows];
#pragma unroll
  for (int row = 0; row < kChunkRows; ++row) items[row] = first + row * 32 < n ? offsets[first + row * 32 + 1] : 0;
  std::int64_t carry = 0;
#pragma unroll
  for (int row = 0; row < kChunkRows; ++row) {
    items[row] = Extend{}(carry, detail::scan_lanes(Extend{}, items[row], lane));
    carry = detail::shuffle(items[row], 31);
  }
  if (lane == 0) warps[warp] = carry;
  __syncthreads();
  std::int64_t before = totals[blockIdx.x];
  for (int w = 0; w < warp; ++w) before = Extend{}(before, warps[w]);
#pragma unroll
  for (int row = 0; row < kChunkRows; ++row) {
    if (first + row * 32 < n) offsets[first + row * 32 + 1] = Extend{}(before, items[row]);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) offsets[0] = 0;
}

inline cudaError_t launch_scan_totals(std::int64_t* totals, std::int64_t n, Stream stream) {
  return detail::launch({.blocks = 1, .threads = kTotalThreads, .stream = stream}, scan_totals<kTotalThreads>, totals,
                        n);
}

/// offsets[0 … n] ← the offsets of lists of count(i) elements; `totals` has chunk_totals(n) elements.
template <class Count>
cudaError_t launch_offsets(const Count& count, std::int64_t n, std::int64_t* offsets, std::int64_t* totals,
                           Stream stream) {
  const std::int64_t chunks = divided_up(n, kChunk);
  const auto blocks = static_cast<unsigned>(chunks);
  if (chunks > 0) {
    const cudaError_t error = detail::launch({.blocks = blocks, .threads = kChunkThreads, .stream = stream},
                                             measure_chunks<Count>, count, n, offsets, totals);
    if (error != cudaSuccess) return error;
  }
  if (const cudaError_t error = launch_scan_totals(totals, chunks, stream); error != cudaSuccess) return error;
  return detail::launch({.blocks = blocks + (chunks == 0 ? 1 : 0), .threads = kChunkThreads, .stream = stream},
                        add_chunks<kChunkThreads>, n, offsets, totals);
}

/// Counts that are already stored, each where its list's offset ends.
struct CountsThere {
  const std::int64_t* offsets;
  __device__ std::int64_t operator()(std::int64_t i) const { return offsets[i + 1]; }
};

// ------------------------------------------------------------------------------------------------------------- outcome

/// Results of a call's kernels for later kernels of the call.
struct Outcome {
  std::int64_t moved;          ///< elements to move: 0 after an error
  unsigned long long not_bad;  ///< the complement of the first bad list; 0: none. Used if offsets do not show it.
};

/// Returns a - b, which wraps if offsets are bad.
__device__ __forceinline__ std::int64_t apart(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// Returns the first bad list. After a bad list all offsets are negative. There must be a bad list.
__device__ inline std::int64_t first_negative(const std::int64_t* offsets, std::int64_t lists) {
  return first_where(0, lists, [&](std::int64_t list) { return offsets[list + 1] < 0; });
}

/// Writes *outcome and *status for lists whose offsets are known, by one thread. Offsets are negative from a bad list
/// on.
template <class Status>
__global__ void conclude_offsets(MovedLists lists, const std::int64_t* offsets, std::int64_t capacity, Outcome* outcome,
                                 Status* status) {
  const std::int64_t total = offsets[lists.count];
  if (total >= 0) {
    const bool fits = total <= capacity;
    outcome->moved = fits ? total : 0;
    *status = {kNoIndex, total, fits ? Code::ok : Code::unequal_lengths};
    return;
  }
  const std::int64_t first = first_negative(offsets, lists.count);
  const Code code = lists.check(first);
  outcome->moved = 0;
  *status = {first, 0, code == Code::ok ? Code::overflow : code};  // if the list is good, its offset does not fit
}

template <class Status>
cudaError_t launch_conclude(const MovedLists& lists, const std::int64_t* offsets, std::int64_t capacity,
                            Outcome* outcome, Status* status, Stream stream) {
  return detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_offsets<Status>, lists, offsets,
                        capacity, outcome, status);
}

// --------------------------------------------------------------------------------------------------- tiles of results
// A block writes a tile of the result, regardless of where its elements are read. So neither a long list nor many empty
// ones unbalance the blocks.

inline constexpr int kTileThreads = tuning::kMoved.tile_threads;
inline constexpr int kTileItems = tuning::kMoved.tile_items;
inline constexpr int kTile = kTileThreads * kTileItems;
/// If more lists than this touch a tile, its elements search for their lists.
inline constexpr std::int64_t kSearchedLists = tuning::kMoved.searched_tiles * kTile;

/// Returns the number of tiles of `tile` elements of a result with that capacity. The claimed capacity may exceed any
/// memory.
__host__ __device__ constexpr std::int64_t tiles_of(std::int64_t capacity, std::int64_t tile) {
  return capacity / tile < kMostBlocks ? (capacity + tile - 1) / tile : kMostBlocks;
}

/// Returns the last list whose offset, counted from `origin`, is not above `element`: between lists first and last.
__device__ __forceinline__ std::int64_t list_of(const std::int64_t* offsets, std::int64_t origin, std::int64_t element,
                                                std::int64_t first, std::int64_t last) {
  return last_where(first, last, [&](std::int64_t list) { return offsets[list] - origin <= element; });
}

/// firsts[t] ← the list of the first element of tile t; for tiles past the end, the last list.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    find_first_lists(const std::int64_t* offsets, std::int64_t n, std::int64_t tiles, std::int64_t tile,
                     const Outcome* outcome, std::int64_t* firsts) {
  const std::int64_t which = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t total = outcome->moved;
  if (which > tiles) return;
  firsts[which] = which * tile >= total ? n - 1 : list_of(offsets, offsets[0], which * tile, 0, n - 1);
}

/// Shared data of the threads of a tile to find their lists. Shift: the result of source.shift() for a list.
template <class Shift>
struct TileHeads {
  std::uint32_t heads[kTile / 32];  ///< where lists begin
  Shift shifts[kTile];              ///< of the list that begins there
};

/// shifts[k] ← source.shift(l, where list l begins in the result) of the list l of element k * kTileThreads +
/// threadIdx.x of the tile from `begin` on. The result ends at `end` or later; lists `first` … `last` touch the tile.
template <class Source, class Shift>
__device__ __forceinline__ void find_shifts(const Source& source, const std::int64_t* offsets, std::int64_t begin,
                                            std::int64_t end, std::int64_t first, std::int64_t last,
                                            TileHeads<Shift>& tile, Shift (&shifts)[kTileItems]) {
  static_assert(kTile / 32 == 32, "a warp looks at all words of heads at once");
  const std::int64_t origin = offsets[0];
  if (last - first >= kSearchedLists) {
#pragma unroll
    for (int k = 0; k < kTileItems; ++k) {
      const std::int64_t at = begin + k * kTileThreads + threadIdx.x;
      if (at >= end) break;
      const std::int64_t list = list_of(offsets, origin, at, first, last);
      shifts[k] = source.shift(list, offsets[list] - origin);
    }
    return;
  }
  if (threadIdx.x < kTile / 32) tile.heads[threadIdx.x] = 0;
  __syncthreads();
  constexpr int kAtOnce = tuning::kMoved.tile_loads;  // lists of a thread: their loads do not wait for each other
  for (std::int64_t list = first + threadIdx.x; list <= last; list += kAtOnce * kTileThreads) {
    std::int64_t own[kAtOnce];
    Shift shift[kAtOnce];
    bool is_here[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t one = list + k * kTileThreads;
      own[k] = one <= last ? offsets[one] - origin : end;
      const std::int64_t next = one <= last ? offsets[one + 1] - origin : end;
      is_here[k] = own[k] != next && own[k] < end && next > begin;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (is_here[k]) shift[k] = source.shift(list + k * kTileThreads, own[k]);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (!is_here[k]) continue;
      const int head = own[k] > begin ? static_cast<int>(own[k] - begin) : 0;
      atomicOr(&tile.heads[head / 32], 1U << (head % 32));
      tile.shifts[head] = shift[k];
    }
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned filled = __ballot_sync(detail::kAllLanes, tile.heads[lane] != 0);
#pragma unroll
  for (int k = 0; k < kTileItems; ++k) {
    const int at = k * kTileThreads + static_cast<int>(threadIdx.x);
    int word = at / 32;
    std::uint32_t before = tile.heads[word] & (0xFFFFFFFFU >> (31 - at % 32));
    if (before == 0) {  // the last head is in an earlier word; the tile's first element has one
      word = 31 - __clz(static_cast<int>(filled & ((1U << word) - 1)));
      before = tile.heads[word];
    }
    shifts[k] = tile.shifts[word * 32 + 31 - __clz(static_cast<int>(before))];
  }
}

/// out[k] ← content[source.position(k + source.shift(l, where list l begins in the result))].
template <class E, class Source>
__global__ void __launch_bounds__(kTileThreads)
    gather_tile(const E* content, Source source, const std::int64_t* offsets, const std::int64_t* firsts,
                const Outcome* outcome, E* out) {
  __shared__ TileHeads<std::int64_t> tile;
  const std::int64_t begin = std::int64_t{blockIdx.x} * kTile;
  const std::int64_t total = outcome->moved;
  if (begin >= total) return;
  const std::int64_t end = ::min(begin + kTile, total);
  std::int64_t shifts[kTileItems];
  find_shifts(source, offsets, begin, end, firsts[blockIdx.x], firsts[blockIdx.x + 1], tile, shifts);

  E items[kTileItems];
#pragma unroll
  for (int k = 0; k < kTileItems; ++k) {
    const std::int64_t at = begin + k * kTileThreads + threadIdx.x;
    if (at < end) items[k] = content[source.position(at + shifts[k])];
  }
#pragma unroll
  for (int k = 0; k < kTileItems; ++k) {
    const std::int64_t at = begin + k * kTileThreads + threadIdx.x;
    if (at < end) out[at] = items[k];
  }
}

/// firsts[0 … tiles] ← the first lists of a result with that capacity, by tiles of `tile` elements.
inline cudaError_t launch_first_lists(const std::int64_t* offsets, std::int64_t n, std::int64_t capacity,
                                      std::int64_t tile, const Outcome* outcome, std::int64_t* firsts, Stream stream) {
  constexpr int kThreads = tuning::kMoved.first_threads;
  const std::int64_t tiles = tiles_of(capacity, tile);
  const auto blocks = static_cast<unsigned>(divided_up(tiles + 1, kThreads));
  return detail::launch({.blocks = blocks, .threads = kThreads, .stream = stream}, find_first_lists<kThreads>, offsets,
                        n, tiles, tile, outcome, firsts);
}

/// Gathers one column, whose elements have `bytes` bytes.
template <class Source>
cudaError_t launch_gather(std::int64_t bytes, const void* content, void* out, std::int64_t capacity,
                          const Source& source, const std::int64_t* offsets, const std::int64_t* firsts,
                          const Outcome* outcome, Stream stream) {
  return visit_element(bytes, content, out, [&]<class E>(std::type_identity<E>) {
    return detail::launch(
        {.blocks = static_cast<unsigned>(tiles_of(capacity, kTile)), .threads = kTileThreads, .stream = stream},
        gather_tile<E, Source>, static_cast<const E*>(content), source, offsets, firsts, outcome, static_cast<E*>(out));
  });
}

}  // namespace upsweep::gpu
#endif
