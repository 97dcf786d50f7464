// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_slices.cu: few items: every block finds the sums in its tile of the bitmap and writes it
// once.
//
// Idea   Ten items have 1024 sums, and nearly all of a large bitmap is zero. A block clears its tile in shared memory.
//        A thread adds up a subset of the first ten items. The block has the sums of the other items in ascending
//        order. A range of them adds up with the thread's sum to sums in the tile. A binary search finds where
//        this range begins.
//        Atomics in shared memory set their bits. Then the tile is stored, 16 bytes per thread.
// Cost   1/8 byte per sum, written once, whatever the number of items; 2^10 subsets per block, and every sum in one
//        block.
// Needs  Any GPU; at most 20 items that fit the target. No scratch.
// Limit  A launch, and 2^n sums: for more than 20 items, a pass per pair costs less. cuda.bits_fused supports any
//        number.
// From   Own. It was made for the instance of ten items in "Notes on GPU Programming with Julia" (E. Aubanel 2021), for
//        which dynamic programming is the wrong algorithm.
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

constexpr int kFirst = gpu::tuning::kSlices.first_items;  // each thread has a subset of these items
constexpr int kThreads = 1 << kFirst;
constexpr int kListed = 1 << (kSlicesItems - kFirst);
constexpr std::int64_t kMostWords = gpu::tuning::kSlices.most_words;
constexpr std::int64_t kLeastWords = gpu::tuning::kSlices.least_words;

struct SlicesCall {
  Sum* sums;
  std::int64_t target;
  std::int64_t words;
  int tile_words;  ///< words of a tile, an even number
  int items;
  std::int64_t item[kSlicesItems];
};

__global__ void __launch_bounds__(kThreads) write_tile(const __grid_constant__ SlicesCall call) {
  __shared__ alignas(16) std::uint32_t bits[2 * kMostWords];
  __shared__ Sum lists[2][kListed];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = std::int64_t{blockIdx.x} * call.tile_words;
  const int words = static_cast<int>(min(std::int64_t{call.tile_words}, call.words - first));

  // ---- Clear the tile, and list the sums of the other items.
  for (int i = thread; i < call.tile_words / 2; i += kThreads)
    reinterpret_cast<uint4*>(bits)[i] = make_uint4(0, 0, 0, 0);
  const Sum* const listed = sorted_sums(lists[0], lists[1], call.item + kFirst, max(call.items - kFirst, 0));
  __syncthreads();  // all bits are cleared

  // ---- Set the bits of the sums least … most.
  const auto least = static_cast<Sum>(first) * 64;
  const Sum most = min(least + static_cast<Sum>(words) * 64 - 1, static_cast<Sum>(call.target));
  const int subsets = 1 << min(call.items, kFirst);
  // [guide: tile]
  if (thread < subsets) {
    Sum sum = 0;
#pragma unroll
    for (int i = 0; i < kFirst; ++i) sum += (thread >> i & 1) != 0 ? static_cast<Sum>(call.item[i]) : 0;
    const int count = 1 << max(call.items - kFirst, 0);
    if (sum <= most) {
      for (int i = sum < least ? count_below<false>(listed, count, least - sum) : 0; i < count; ++i) {
        if (listed[i] > most - sum) break;
        const auto bit = static_cast<unsigned>(sum + listed[i] - least);
        atomicOr(&bits[bit / 32], 1U << (bit % 32));
      }
    }
  }
  // [guide: end]
  __syncthreads();  // all bits are set

  // ---- Store the tile, in units of 16 bytes if the bitmap is aligned to them.
  Sum* const to = call.sums + first;
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(uint4) == 0) {
    for (int i = thread; i < words / 2; i += kThreads) {
      reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(bits)[i];
    }
    if (words % 2 != 0 && thread == 0) to[words - 1] = reinterpret_cast<const Sum*>(bits)[words - 1];
  } else {
    for (int i = thread; i < words; i += kThreads) to[i] = reinterpret_cast<const Sum*>(bits)[i];
  }
}

Status launch(detail::SubsetSumCall& call, const Policy&) noexcept {
  SlicesCall slices{};
  slices.sums = reinterpret_cast<Sum*>(call.sums);
  slices.target = call.target;
  for (std::int64_t i = 0; i < call.n; ++i) {
    if (call.items[i] > call.target) continue;
    if (slices.items == kSlicesItems) return {.code = Code::unsupported, .reason = "more than 20 items fit the target"};
    slices.item[slices.items++] = call.items[i];
  }
  slices.words = detail::words_of(call.target);
  // There is one block per multiprocessor if one tile each is enough.
  const std::int64_t share = (slices.words + call.launch->multiprocessors - 1) / call.launch->multiprocessors;
  slices.tile_words = static_cast<int>(std::clamp((share + 1) / 2 * 2, kLeastWords, kMostWords));
  const auto blocks = static_cast<unsigned>((slices.words + slices.tile_words - 1) / slices.tile_words);
  return gpu::status_of(
      gpu::detail::launch({.blocks = blocks, .threads = kThreads, .stream = call.launch->stream}, write_tile, slices));
}

}  // namespace
}  // namespace upsweep::impl::subset_sum
#endif

namespace upsweep::impl::subset_sum {
namespace {

const char* slices_refusal(const detail::SubsetSumCall& call, const Policy&) noexcept {
  return call.n > kSlicesItems ? "computes every subset: supports at most 20 items" : nullptr;
}

}  // namespace

extern const Rung cuda_slices{.info = {.id = "cuda.slices",
                                       .idea = "each block searches the sums of its tile",
                                       .needs = "any GPU; up to 20 items",
                                       .traffic = "the bitmap, once",
                                       .cost = "2^n, 2^10",
                                       .limit = "the launch"},
                              .refusal = slices_refusal,
                              .run = launch};

}  // namespace upsweep::impl::subset_sum
