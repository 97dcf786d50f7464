// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_two_list.cu: decides for few items of any size: the sorted sums of both halves, and their
// merge.
//
// Idea   The lists grow by doubling: a list is merged with the same list plus an item. The search is also a merge.
//        The sum a + b is the target if a is equal to target - b. So the list of all a is merged with the reversed list
//        of all target - b, which makes equal elements adjacent. A merge is divided into tiles of equal length where
//        its path crosses diagonals, by a binary search each. A block merges a tile in shared memory; each thread
//        merges a few elements. Sums above the target end a list.
// Cost   For n items, 2^(n/2 + 2) sums written and the same number read, in n/2 rounds; both lists are read once more.
//        8 bytes each: 86 GB for 60 items.
// Needs  Any GPU; 24 * 2^(n/2) bytes of scratch for even n: 26 GB for 60 items, 103 GB for 64; a call that waits.
// Limit  Half of the memory bandwidth, because a thread merges one sum after the other. Above 64 items, the amount of
//        memory: cpu.schroeppel_shamir keeps lists of 2^(n/4).
// From   E. Horowitz and S. Sahni, JACM 21 (1974); diagonals: O. Green, R. McColl, D. Bader, ICS 2012.
#include "problems/subset_sum/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "problems/subset_sum/cuda_sorted_sums.cuh"
#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/subset_sum.hpp"

namespace upsweep::impl::subset_sum {
namespace {

constexpr int kThreads = gpu::tuning::kTwoList.threads;
constexpr int kPerThread = gpu::tuning::kTwoList.sums;
constexpr int kTile = kThreads * kPerThread;
// Number of items of a half whose sums one block computes in shared memory.
constexpr int kSeedItems = gpu::tuning::kTwoList.seed_items;
constexpr int kSeedThreads = gpu::tuning::kTwoList.seed_threads;
constexpr int kMostHalf = kTwoListItems / 2;

struct Half {
  Sum* sums[2];          ///< list i is in sums[(items - i) % 2]: the whole list in sums[0], which is long enough
  std::int64_t* ends;    ///< ends of the tiles of a merge in the list without the item
  std::int64_t* counts;  ///< number of sums of the list of the first i items, i = 0 … items
  int items;
  std::int64_t item[kMostHalf];
};

struct TwoLists {
  Half halves[2];
  Sum target;
  Sum* found;  ///< the smallest sum of the first half whose counterpart is in the second half
};

// ---- The two sides of a merge, both in ascending order.
struct Plain {
  const Sum* sums;
  std::int64_t count;
  __device__ __forceinline__ Sum operator[](std::int64_t i) const { return sums[i]; }
};
struct Raised {
  const Sum* sums;
  std::int64_t count;
  Sum item;
  __device__ __forceinline__ Sum operator[](std::int64_t i) const { return sums[i] + item; }
};
struct Counterparts {
  const Sum* sums;
  std::int64_t count;
  Sum target;
  __device__ __forceinline__ Sum operator[](std::int64_t i) const { return target - sums[count - 1 - i]; }
};

// [guide: diagonal]
/// Returns how many of the first `diagonal` elements of a merge are from the left side, which is first if two are
/// equal.
template <class Left, class Right, class Index>
__device__ __forceinline__ Index left_share(const Left& left, const Right& right, Index left_count, Index right_count,
                                            Index diagonal) {
  Index low = max(Index{0}, diagonal - right_count);
  Index high = min(diagonal, left_count);
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (left[middle] <= right[diagonal - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
// [guide: end]

/// Finds the end of every tile, with one thread per tile.
template <class Left, class Right>
__device__ __forceinline__ void find_ends(const Left& left, const Right& right, std::int64_t* ends) {
  const std::int64_t all = left.count + right.count;
  const std::int64_t tile = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (tile * kTile >= all) return;
  ends[tile] = left_share(left, right, left.count, right.count, min((tile + 1) * kTile, all));
}

/// A block's tile of a merge. Its elements are in shared memory: first those of the left side, then those of the right.
struct Tile {
  std::int64_t first;  ///< first element of the tile in the merge
  std::int64_t left;   ///< first element of the tile in the left side, and in the right side
  std::int64_t right;
  int left_count;
  int right_count;
};

template <class Left, class Right>
__device__ __forceinline__ Tile tile_of(const Left& left, const Right& right, const std::int64_t* ends) {
  const std::int64_t all = left.count + right.count;
  Tile tile;
  tile.first = std::int64_t{blockIdx.x} * kTile;
  tile.left = blockIdx.x == 0 ? 0 : ends[blockIdx.x - 1];
  tile.right = tile.first - tile.left;
  tile.left_count = static_cast<int>(ends[blockIdx.x] - tile.left);
  tile.right_count = static_cast<int>(min(std::int64_t{kTile}, all - tile.first)) - tile.left_count;
  return tile;
}

template <class Left, class Right>
__device__ __forceinline__ void load_tile(const Left& left, const Right& right, const Tile& tile, Sum* sums) {
  const int count = tile.left_count + tile.right_count;
  Sum loaded[kPerThread];
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    if (i >= count) continue;
    loaded[k] = i < tile.left_count ? left[tile.left + i] : right[tile.right + i - tile.left_count];
  }
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    if (i < count) sums[i] = loaded[k];
  }
  __syncthreads();  // the tile is loaded
}

/// Calls take(k, sum, is_left, number of left elements of the tile before it) for each of the thread's elements k, in
/// order.
template <class Take>
__device__ __forceinline__ void merge_run(const Tile& tile, const Sum* sums, Take take) {
  const Sum* const left = sums;
  const Sum* const right = sums + tile.left_count;
  const int count = tile.left_count + tile.right_count;
  const int begin = min(static_cast<int>(threadIdx.x) * kPerThread, count);
  int l = left_share(left, right, tile.left_count, tile.right_count, begin);
  int r = begin - l;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (begin + k >= count) break;
    const bool is_left = r >= tile.right_count || (l < tile.left_count && left[l] <= right[r]);
    take(k, is_left ? left[l] : right[r], is_left, l);
    l += is_left ? 1 : 0;
    r += is_left ? 0 : 1;
  }
}

// ---- The lists of the first items of both halves, with one block each.
__global__ void __launch_bounds__(kSeedThreads) seed(const __grid_constant__ TwoLists call) {
  __shared__ Sum lists[2][1 << kSeedItems];
  const Half& half = call.halves[blockIdx.x];
  const int items = min(half.items, kSeedItems);
  const Sum* const sums = sorted_sums(lists[0], lists[1], half.item, items);
  const int count = count_below<true>(sums, 1 << items, call.target);
  Sum* const to = half.sums[(half.items - items) % 2];
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kSeedThreads) to[i] = sums[i];
  if (threadIdx.x == 0) half.counts[items] = count;
  if (blockIdx.x == 0 && threadIdx.x == 0) *call.found = ~Sum{0};
}

// ---- A round: the list of `done` items, merged with itself plus the next item; blockIdx.y selects the half.
__device__ __forceinline__ Plain without_item(const Half& half, int done) {
  return {half.sums[(half.items - done) % 2], half.counts[done]};
}
__device__ __forceinline__ Raised with_item(const Half& half, int done) {
  return {half.sums[(half.items - done) % 2], half.counts[done], static_cast<Sum>(half.item[done])};
}

__global__ void __launch_bounds__(kThreads) find_round_ends(const __grid_constant__ TwoLists call, int done) {
  const Half& half = call.halves[blockIdx.y];
  if (done < half.items) find_ends(without_item(half, done), with_item(half, done), half.ends);
}

__global__ void __launch_bounds__(kThreads) merge_round(const __grid_constant__ TwoLists call, int done) {
  __shared__ Sum sums[kTile];
  const Half& half = call.halves[blockIdx.y];
  if (done >= half.items) return;
  const Plain left = without_item(half, done);
  const Raised right = with_item(half, done);
  const std::int64_t all = left.count + right.count;
  if (std::int64_t{blockIdx.x} * kTile >= all) return;
  const Tile tile = tile_of(left, right, half.ends);
  load_tile(left, right, tile, sums);

  Sum merged[kPerThread];
  merge_run(tile, sums, [&](int k, Sum sum, bool, int) { merged[k] = sum; });
  __syncthreads();  // all threads have read the tile
  const int count = tile.left_count + tile.right_count;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int i = static_cast<int>(threadIdx.x) * kPerThread + k;
    if (i < count) sums[i] = merged[k];
  }
  __syncthreads();  // the tile is merged

  // Sums above the target are left out. The tile with the last sum that is not above determines the length of the list.
  // If it is the last sum of its tile, the next sums on both sides decide.
  Sum* const to = half.sums[(half.items - done - 1) % 2] + tile.first;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    if (sums[i] > call.target) continue;
    to[i] = sums[i];
    const bool is_last =
        i + 1 < count
            ? sums[i + 1] > call.target
            : (tile.left + tile.left_count == left.count || left[tile.left + tile.left_count] > call.target) &&
                  (tile.right + tile.right_count == right.count || right[tile.right + tile.right_count] > call.target);
    if (is_last) half.counts[done + 1] = tile.first + i + 1;
  }
}

// ---- The search.
__device__ __forceinline__ Plain left_sums(const TwoLists& call) {
  const Half& half = call.halves[0];
  return {half.sums[0], half.counts[half.items]};
}
__device__ __forceinline__ Counterparts counterparts(const TwoLists& call) {
  const Half& half = call.halves[1];
  return {half.sums[0], half.counts[half.items], call.target};
}

__global__ void __launch_bounds__(kThreads) find_search_ends(const __grid_constant__ TwoLists call) {
  find_ends(left_sums(call), counterparts(call), call.halves[0].ends);
}

__global__ void __launch_bounds__(kThreads) search(const __grid_constant__ TwoLists call) {
  __shared__ Sum sums[kTile];
  const Plain left = left_sums(call);
  const Counterparts right = counterparts(call);
  if (std::int64_t{blockIdx.x} * kTile >= left.count + right.count) return;
  const Tile tile = tile_of(left, right, call.halves[0].ends);
  // The tile's first counterpart may be equal to the left sum before the tile. No sum is as large as ~0.
  const Sum before = tile.left > 0 ? left[tile.left - 1] : ~Sum{0};
  load_tile(left, right, tile, sums);
  merge_run(tile, sums, [&](int, Sum sum, bool is_left, int l) {
    if (!is_left && sum == (l > 0 ? sums[l - 1] : before)) atomicMin(call.found, sum);
  });
}

// ---- Host code.
constexpr std::int64_t kHeadBytes = 1024;  // `found`, then the counts of both halves
static_assert(sizeof(Sum) + 2 * (kMostHalf + 1) * sizeof(std::int64_t) <= kHeadBytes);

/// Maximum number of sums of a half with `items` items, in each of its two arrays.
constexpr std::int64_t whole_of(int items) { return std::int64_t{1} << items; }
constexpr std::int64_t previous_of(int items) { return std::int64_t{1} << std::max(items - 1, 0); }
constexpr std::int64_t tiles_of(std::int64_t sums) { return (sums + kTile - 1) / kTile; }
/// Size of `ends`: the number of tiles of the longest merge. For the first half, this is the search.
constexpr std::int64_t ends_of(int left, int right) { return tiles_of(whole_of(left) + whole_of(right)); }

constexpr std::int64_t scratch_of(int left, int right) {
  return kHeadBytes + 8 * (whole_of(left) + previous_of(left) + whole_of(right) + previous_of(right) +
                           ends_of(left, right) + tiles_of(whole_of(right)));
}

unsigned blocks_of(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

/// Enqueues all kernels in the stream, for halves of `left` and `right` items.
cudaError_t launch_all(const TwoLists& lists, int left, int right, gpu::Stream stream) {
  cudaError_t error = cudaSuccess;
  const auto launch_next = [&](dim3 blocks, int threads, auto kernel, auto... more) {
    const gpu::detail::Grid grid{.blocks = blocks, .threads = static_cast<unsigned>(threads), .stream = stream};
    if (error == cudaSuccess) error = gpu::detail::launch(grid, kernel, lists, more...);
  };
  launch_next(2, kSeedThreads, seed);
  for (int done = kSeedItems; done < right; ++done) {  // the second half is at least as long as the first
    const auto tiles = static_cast<unsigned>(tiles_of(whole_of(done + 1)));
    launch_next({blocks_of(tiles), 2}, kThreads, find_round_ends, done);
    launch_next({tiles, 2}, kThreads, merge_round, done);
  }
  const auto tiles = static_cast<unsigned>(ends_of(left, right));
  launch_next(blocks_of(tiles), kThreads, find_search_ends);
  launch_next(tiles, kThreads, search);
  return error;
}

Status launch(detail::SubsetSumCall& call, const Policy&) noexcept {
  const gpu::Stream stream = call.launch->stream;
  const auto fits = [&](std::int64_t item) { return item <= call.target; };
  const auto usable =
      static_cast<int>(std::min<std::int64_t>(std::count_if(call.items, call.items + call.n, fits), kTwoListItems + 1));
  if (usable > kTwoListItems) return {.code = Code::unsupported, .reason = "more than 64 items fit the target"};

  TwoLists lists{};
  lists.target = static_cast<Sum>(call.target);
  call.left_items = 0;
  for (std::int64_t i = 0; i < call.n; ++i) {
    if (!fits(call.items[i])) continue;
    const bool is_left = lists.halves[0].items < usable / 2;
    Half& half = lists.halves[is_left ? 0 : 1];
    half.item[half.items++] = call.items[i];
    if (is_left) call.left_items = i + 1;
  }
  const int left = lists.halves[0].items;
  const int right = lists.halves[1].items;
  auto* memory = static_cast<Sum*>(call.launch->scratch);
  lists.found = memory;
  for (int i = 0; i < 2; ++i) {
    lists.halves[i].counts = reinterpret_cast<std::int64_t*>(memory) + 1 + i * (kMostHalf + 1);
  }
  memory += kHeadBytes / 8;
  for (Half& half : lists.halves) {
    half.sums[0] = memory;
    half.sums[1] = memory + whole_of(half.items);
    memory += whole_of(half.items) + previous_of(half.items);
  }
  lists.halves[0].ends = reinterpret_cast<std::int64_t*>(memory);
  lists.halves[1].ends = lists.halves[0].ends + ends_of(left, right);

  Sum found = 0;
  cudaError_t error = launch_all(lists, left, right, stream);
  if (error == cudaSuccess) error = cudaMemcpyAsync(&found, lists.found, sizeof found, cudaMemcpyDeviceToHost, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) return gpu::status_of(error);
  call.reachable = found != ~Sum{0};
  call.sum = call.target;
  call.left_sum = call.reachable ? static_cast<std::int64_t>(found) : 0;
  return {};
}

gpu::WorkspaceSize workspace(const detail::SubsetSumCall& call) noexcept {
  const int items = static_cast<int>(std::min<std::int64_t>(call.n, kTwoListItems));
  return {.scratch = scratch_of(items / 2, items - items / 2)};
}

}  // namespace
}  // namespace upsweep::impl::subset_sum
#endif

namespace upsweep::impl::subset_sum {
namespace {

const char* two_list_refusal(const detail::SubsetSumCall& call, const Policy&) noexcept {
  return call.n > kTwoListItems ? "makes lists of 2^(n/2) sums: supports at most 64 items" : one_sum_refusal(call);
}

}  // namespace

extern const Rung cuda_two_list{.info = {.id = "cuda.two_list",
                                         .idea = "the sums of both halves as sorted lists",
                                         .needs = "any GPU; up to 64 items",
                                         .traffic = "40 bytes per sum of a half",
                                         .cost = "2^(n/2), n/2 rounds",
                                         .limit = "memory"},
                                .refusal = two_list_refusal,
                                .run = launch,
                                .workspace = workspace};

}  // namespace upsweep::impl::subset_sum
