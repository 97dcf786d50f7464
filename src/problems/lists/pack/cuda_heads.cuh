// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_heads.cuh: a block copies the elements of its lists, as one run if they are contiguous;
// otherwise each element finds its list by bits.
#pragma once

#if UPSWEEP_HAS_CUDA
#include <cstdint>
#include <cstring>

#include "cuda/moved_lists.cuh"
#include "upsweep/detail/tuning/pack.hpp"

namespace upsweep::impl::pack {

inline constexpr int kMoveThreads = gpu::tuning::kPack.threads;
inline constexpr int kMoveWarps = kMoveThreads / 32;

/// The lists of a warp in rows of 32, where a thread has one list in each row. `here` says whether a list has elements
/// among the block's results: those from `begin` to before `end`. Element e of the results is element e + shift of the
/// content.
template <int kRows>
struct ListRows {
  bool here[kRows];
  int begin[kRows];
  int end[kRows];
  std::int64_t shift[kRows];
};

/// The source of up to kResults results of a block, from up to kLists lists.
template <int kResults, int kLists>
struct Heads {
  static constexpr int kWords = kResults / 32;
  static_assert(kLists < 65536 && kResults % 32 == 0);

  std::uint32_t bits[kWords];    ///< positions at which lists begin
  std::uint16_t before[kWords];  ///< number of lists that begin before each word
  std::int64_t shifts[kLists];   ///< of the lists that have results, in order
  std::int64_t warp_shift[kMoveWarps];
  int warp_lists[kMoveWarps];
  bool warp_is_run[kMoveWarps];

  /// Enters the lists. All threads call this, with lists in order from warp to warp. If asked for, returns whether all
  /// results are one run of the content. In this case run_shift() is its shift, and shift_of() must not be called.
  template <int kRows>
  __device__ __forceinline__ bool enter(const ListRows<kRows>& rows, bool asks_for_run) {
    static_assert(kRows * kMoveThreads <= kLists);
    const auto thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    int lists = 0;
    int rank[kRows];
    std::int64_t first_shift = 0;
    bool is_run = true;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const unsigned mask = __ballot_sync(gpu::detail::kAllLanes, rows.here[row]);
      rank[row] = lists + __popc(mask & ((1U << lane) - 1));
      if (lists == 0 && mask != 0) first_shift = gpu::detail::shuffle(rows.shift[row], 31 - __clz(mask & (0U - mask)));
      lists += __popc(mask);
      is_run = is_run && (!rows.here[row] || rows.shift[row] == first_shift);
    }
    is_run = __ballot_sync(gpu::detail::kAllLanes, is_run) == gpu::detail::kAllLanes;
    if (lane == 0) {
      warp_lists[warp] = lists;
      warp_shift[warp] = first_shift;
      warp_is_run[warp] = is_run;
    }
    for (int word = thread; word < kWords; word += kMoveThreads) bits[word] = 0;
    if (thread == 0) before[0] = 0;
    __syncthreads();

    if (asks_for_run && all_are_one_run()) return true;
    int lists_before = 0;
#pragma unroll
    for (int w = 0; w < kMoveWarps; ++w) lists_before += w < warp ? warp_lists[w] : 0;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (rows.here[row]) mark(rows.begin[row], rows.end[row], lists_before + rank[row], rows.shift[row]);
    }
    __syncthreads();
    return false;
  }

  [[nodiscard]] __device__ __forceinline__ std::int64_t run_shift() const {
    std::int64_t shift = 0;
#pragma unroll
    for (int w = kMoveWarps - 1; w >= 0; --w) shift = warp_lists[w] > 0 ? warp_shift[w] : shift;
    return shift;
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t shift_of(int at) const {
    const std::uint32_t word = bits[at / 32] & (0xFFFFFFFFU >> (31 - at % 32));
    return shifts[before[at / 32] + __popc(word) - 1];
  }

 private:
  [[nodiscard]] __device__ __forceinline__ bool all_are_one_run() const {
    const std::int64_t shift = run_shift();
    int others = 0;  // counted, because branches would wait for each load
#pragma unroll
    for (int w = 0; w < kMoveWarps; ++w) {
      others += warp_is_run[w] ? 0 : 1;
      others += warp_lists[w] > 0 && warp_shift[w] != shift ? 1 : 0;
    }
    return others == 0;
  }
  __device__ __forceinline__ void mark(int begin, int end, int rank, std::int64_t shift) {
    atomicOr(&bits[begin / 32], 1U << (begin % 32));
    shifts[rank] = shift;
    const int last = ::min(end / 32, kWords - 1);
#pragma unroll 1  // a short list has zero or one iteration
    for (int word = begin / 32 + 1; word <= last; ++word) before[word] = static_cast<std::uint16_t>(rank + 1);
  }
};

/// Whether elements of this type may be moved 16 bytes at a time.
template <class E>
inline constexpr bool kMovesInRuns = alignof(E) == sizeof(E);

/// Copies where()[e] ← from[e] for `count` elements, with all threads. The first loads do not wait for where(), which
/// is called once. Nothing is written if it returns null.
template <class E, class Where>
__device__ __forceinline__ void move_run(const E* from, int count, Where where) {
  constexpr int kWidth = 16 / int{sizeof(E)};
  constexpr int kAtOnce = gpu::tuning::kPack.run_loads;
  const auto thread = static_cast<int>(threadIdx.x);
  const int head = ::min(count, static_cast<int>((0 - reinterpret_cast<std::uintptr_t>(from)) % 16 / sizeof(E)));
  const int chunks = (count - head) / kWidth;
  const auto* const chunk_from = reinterpret_cast<const uint4*>(from + head);
  // The first two warps copy the elements at both ends that do not fill a chunk.
  const int edge = thread < 32 ? thread : head + chunks * kWidth + thread - 32;
  const bool has_edge = thread < 32 ? thread < head : thread < 64 && edge < count;
  E edge_item;
  if (has_edge) edge_item = from[edge];
  E* to = nullptr;
  int base = 0;
  do {
    uint4 items[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int chunk = base + k * kMoveThreads + thread;
      if (chunk < chunks) items[k] = chunk_from[chunk];
    }
    if (base == 0) {
      to = where();
      if (to == nullptr) return;
      if (has_edge) to[edge] = edge_item;
    }
    if (reinterpret_cast<std::uintptr_t>(to + head) % 16 == 0) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int chunk = base + k * kMoveThreads + thread;
        if (chunk < chunks) reinterpret_cast<uint4*>(to + head)[chunk] = items[k];
      }
    } else {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int chunk = base + k * kMoveThreads + thread;
        E elements[kWidth];
        memcpy(elements, &items[k], sizeof elements);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          if (chunk < chunks) to[head + chunk * kWidth + j] = elements[j];
        }
      }
    }
    base += kAtOnce * kMoveThreads;
  } while (base < chunks);
}

/// Copies where()[e] ← content[e + shift_of(e)] in the same way.
template <class E, class Shift, class Where>
__device__ __forceinline__ void move_each(const E* content, int count, Shift shift_of, Where where) {
  constexpr int kAtOnce = !kMovesInRuns<E> ? gpu::tuning::kPack.unaligned_loads
                          : sizeof(E) <= 8 ? gpu::tuning::kPack.scattered_loads
                                           : gpu::tuning::kPack.scattered_wide_loads;
  const auto thread = static_cast<int>(threadIdx.x);
  E* to = nullptr;
  int base = 0;
  do {
    E items[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int at = base + k * kMoveThreads + thread;
      if (at < count) items[k] = content[at + shift_of(at)];
    }
    if (base == 0) to = where();
    if (to == nullptr) return;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int at = base + k * kMoveThreads + thread;
      if (at < count) to[at] = items[k];
    }
    base += kAtOnce * kMoveThreads;
  } while (base < count);
}

/// Copies the `count` results that `heads` describes, as one run or each.
template <class E, class H, class Where>
__device__ __forceinline__ void move_results(const H& heads, bool is_run, const E* content, int count, Where where) {
  if constexpr (kMovesInRuns<E>) {
    if (is_run) return move_run(content + heads.run_shift(), count, where);
  }
  move_each(content, count, [&](int at) { return heads.shift_of(at); }, where);
}

// ----------------------------------------------------------------------------------------------------- bounds of lists

/// Returns the first of a thread's lists; row r is 32 r lists later.
template <int kRows>
__device__ __forceinline__ std::int64_t first_row() {
  return static_cast<std::int64_t>(threadIdx.x / 32 * (kRows * 32) + threadIdx.x % 32);
}

/// Reads values[r] ← bounds[first + 32 r]; past the end it reads the last bound. Nothing here waits for a load.
template <class T, int kRows>
__device__ __forceinline__ void load_rows(const T* bounds, std::int64_t first, std::int64_t last, T (&values)[kRows]) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) values[row] = bounds[::min(first + row * 32, last)];
}
template <int kRows>
__device__ __forceinline__ void widen_rows(const auto (&values)[kRows], std::int64_t (&wide)[kRows]) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) wide[row] = static_cast<std::int64_t>(values[row]);
}

/// Calls f with a value of the type of the bounds: starts, stops or sizes.
template <class F>
__device__ __forceinline__ void with_bound_type(Type type, F f) {
  if (type == Type::int64) return f(std::int64_t{});
  if (type == Type::int32) return f(std::int32_t{});
  f(std::uint32_t{});
}

/// Starts and lengths of rows of lists.
template <int kRows>
struct Extents {
  std::int64_t start[kRows];
  std::int64_t length[kRows];  ///< below 0 for a bad list, 0 past the last list

  __device__ __forceinline__ void load(const gpu::MovedLists& lists, std::int64_t first) {
    const std::int64_t last = lists.count - 1;
    std::int64_t past[kRows];  // or the size
    if (lists.has_size) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) start[row] = ::min(first + row * 32, last) * lists.size;
    } else {
      with_bound_type(lists.type, [&]<class T>(T) {
        T from[kRows];
        T to[kRows];
        load_rows(static_cast<const T*>(lists.starts), first, last, from);
        load_rows(static_cast<const T*>(lists.sizes != nullptr ? lists.sizes : lists.stops), first, last, to);
        widen_rows(from, start);
        widen_rows(to, past);
      });
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const std::int64_t list = first + row * 32;
      const bool is_there = list <= last && (!lists.has_nulls || lists.valid[list]);
      length[row] = is_there ? lists.length_of(start[row], past[row]) : 0;
    }
  }
};

/// Writes sums[r] ← the sum of the lengths of the warp's lists up to the list of row r. Returns the sum of all lengths.
/// A bad length is below 0, and so are all sums that include it.
template <int kRows>
__device__ __forceinline__ std::int64_t sum_rows(const std::int64_t (&lengths)[kRows], std::int64_t (&sums)[kRows]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  bool is_short = true;
#pragma unroll
  for (int row = 0; row < kRows; ++row) is_short = is_short && static_cast<std::uint64_t>(lengths[row]) < (1U << 20);
  if (__ballot_sync(gpu::detail::kAllLanes, is_short) == gpu::detail::kAllLanes) {
    int carry = 0;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int sum = carry + gpu::detail::scan_lanes(Add{}, static_cast<int>(lengths[row]), lane);
      carry = gpu::detail::shuffle(sum, 31);
      sums[row] = sum;
    }
    return carry;
  }
  std::int64_t carry = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    sums[row] = gpu::Extend{}(carry, gpu::detail::scan_lanes(gpu::Extend{}, lengths[row], lane));
    carry = gpu::detail::shuffle(sums[row], 31);
  }
  return carry;
}

// ---------------------------------------------------------------------------------------------------- tiles of results

inline constexpr int kTileResults = gpu::tuning::kPack.tile_results;
inline constexpr int kTileRows = gpu::tuning::kPack.tile_rows;
inline constexpr int kTileLists = kMoveThreads * kTileRows;  ///< of a tile: if more touch it, its elements search
template <int kSpan>
using TileHeads = Heads<kSpan * kTileResults, kTileLists>;

/// Writes out[begin … end) of the result, kSpan tiles, with all threads. Only lists `first` … `last` touch it.
template <int kSpan, class E>
__device__ __forceinline__ void move_tile(const gpu::MovedLists& lists, const std::int64_t* offsets,
                                          std::int64_t origin, std::int64_t begin, std::int64_t end, std::int64_t first,
                                          std::int64_t last, const E* content, E* out, TileHeads<kSpan>& heads) {
  const auto count = static_cast<int>(end - begin);
  const auto to = [&] { return out + begin; };
  if (last - first >= kTileLists) {
    const auto shift_of = [&](int at) {
      const std::int64_t list = gpu::list_of(offsets, origin, begin + at, first, last);
      return lists.start(list) - (offsets[list] - origin) + begin;
    };
    return move_each(content, count, shift_of, to);
  }
  const std::int64_t own = first + first_row<kTileRows>();
  ListRows<kTileRows> rows;
  std::int64_t from[kTileRows];
  std::int64_t past[kTileRows];
  std::int64_t start[kTileRows];
  const std::int64_t warp_lists = last + 1 - (own - threadIdx.x % 32);
#pragma unroll
  for (int row = 0; row < kTileRows; ++row) {
    from[row] = past[row] = start[row] = 0;
    if (row * 32 >= warp_lists) continue;  // the same for all lanes
    const std::int64_t list = ::min(own + row * 32, last);
    from[row] = offsets[list];
    past[row] = offsets[list + 1];
    start[row] = lists.start(list);
  }
#pragma unroll
  for (int row = 0; row < kTileRows; ++row) {
    const std::int64_t at = from[row] - origin - begin;
    const std::int64_t next = past[row] - origin - begin;
    rows.here[row] = own + row * 32 <= last && next > at && next > 0 && at < count;
    rows.begin[row] = static_cast<int>(::max(at, std::int64_t{0}));
    rows.end[row] = static_cast<int>(::min(next, std::int64_t{count}));
    rows.shift[row] = start[row] - at;
  }
  const bool is_run = heads.enter(rows, kMovesInRuns<E>);
  move_results(heads, is_run, content, count, to);
}

}  // namespace upsweep::impl::pack
#endif
