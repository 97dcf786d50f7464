// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_bits.cu: a bit per sum and a launch per item: words are shifted and ORed, 64 sums at a time.
//
// Idea   Adding an item to every sum shifts the bitmap by that item. Word w is the old word w, ORed with the shifted
//        bits of two other words. Each launch reads one bitmap and writes another, because blocks do not wait for each
//        other. The two bitmaps are used in turn so that the last one written is the caller's. Words above the sum of
//        the items so far are not accessed.
// Cost   Per item 3/8 byte per sum that can be reached by then: old, shifted, new. Caches serve one read for small
//        items.
// Needs  Any GPU; a second bitmap of scratch.
// Limit  Every item is a pass over device memory, and a launch. cuda.bits_fused adds two items per pass, in one kernel.
// From   The textbook bitset for subset sum; cuda.agglomerated with the seven spare bits of its bytes in use.
#include "problems/subset_sum/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::impl::subset_sum {
namespace {

using Word = std::uint64_t;

constexpr int kBlock = gpu::tuning::kTeaching.threads;

struct Bitmap {
  Word* words;
  std::int64_t count;  ///< number of words in use; words past the end contain no sum, whatever their bits
};

__global__ void add_no_item(Word* words) { *words = 1; }

__global__ void add_item(const Bitmap from, const Bitmap to, std::int64_t item, std::int64_t target) {
  const std::int64_t w = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (w >= to.count) return;
  // [guide: shift]
  const auto old = [&](std::int64_t i) { return i >= 0 && i < from.count ? from.words[i] : 0; };
  const std::int64_t source = w - item / 64;
  const auto shift = static_cast<unsigned>(item % 64);
  // The shift is done in two steps, because a shift by 64 would be a shift by 0.
  Word word = old(w) | old(source) << shift | old(source - 1) >> 1 >> (63 - shift);
  if (w == target / 64) word &= ~Word{0} >> (63 - target % 64);
  to.words[w] = word;
  // [guide: end]
}

Status launch(detail::SubsetSumCall& call, const Policy&) noexcept {
  const gpu::Stream stream = call.launch->stream;
  const auto fits = [&](std::int64_t item) { return item <= call.target; };
  std::int64_t left = std::count_if(call.items, call.items + call.n, fits);
  Word* const turns[2] = {call.sums, static_cast<Word*>(call.launch->scratch)};
  Bitmap sums{turns[left % 2], 1};
  cudaError_t error = gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, add_no_item, sums.words);
  if (error != cudaSuccess) return gpu::status_of(error);
  std::int64_t largest = 0;  // largest sum so far, up to the target
  for (const std::int64_t* item = call.items; left > 0; ++item) {
    if (!fits(*item)) continue;
    --left;
    largest += std::min(*item, call.target - largest);
    const Bitmap next{turns[left % 2], detail::words_of(largest)};
    const auto blocks = static_cast<unsigned>((next.count + kBlock - 1) / kBlock);
    error = gpu::detail::launch({.blocks = blocks, .threads = kBlock, .stream = stream}, add_item, sums, next, *item,
                                call.target);
    if (error != cudaSuccess) return gpu::status_of(error);
    sums = next;
  }
  const std::int64_t untouched = detail::words_of(call.target) - sums.count;
  if (untouched == 0) return {};
  return gpu::status_of(
      cudaMemsetAsync(sums.words + sums.count, 0, static_cast<std::size_t>(untouched) * sizeof(Word), stream));
}

gpu::WorkspaceSize workspace(const detail::SubsetSumCall& call) noexcept {
  return {.scratch = detail::words_of(call.target) * std::int64_t{sizeof(Word)}};
}

}  // namespace
}  // namespace upsweep::impl::subset_sum
#endif

namespace upsweep::impl::subset_sum {

extern const Rung cuda_bits{.info = {.id = "cuda.bits",
                                     .idea = "a bit per sum, a kernel per item",
                                     .needs = "any GPU",
                                     .traffic = kBitTraffic,
                                     .cost = "n·S/64, n",
                                     .limit = "memory and a launch per item"},
                            .run = launch,
                            .workspace = workspace};

}  // namespace upsweep::impl::subset_sum
