// SPDX-License-Identifier: Apache-2.0
// aggregate/cuda_interleaved.cu: every block sums its rows by a tree in shared memory, neighbours first.
//
// Idea   Thread i puts row i's product, or 0, into shared memory. Then pairs at distance 1 are added, pairs of pairs at
//        distance 2, and so on: log2 256 levels with a barrier each. The host adds up one sum per block.
// Cost   The keys and the touched sectors; 8 bytes per 256 rows back. Work n, depth 8 + n/256 on the host.
// Needs  Any GPU; a sum per block of scratch; a call that waits.
// Limit  Bank conflicts: at distance s the lanes' words are 2s apart, so that up to 16 lanes want the same banks and take
//        turns (6,223,004 times in "Exercise Session 12"); and the threads that still work are spread over all warps,
//        every one of which stays busy. cuda.sequential adds halves instead.
// From   selectandsum of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 36.046 ms, slower
//        than adding up on the host.
#include "aggregate/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "aggregate/cuda_rows.cuh"

namespace upsweep::aggregate {
namespace {

__global__ void interleaved_select_and_sum(const DeviceRows rows, Sum* sums) {
  __shared__ Sum values[kBlock];
  values[threadIdx.x] = rows.product(std::int64_t{blockIdx.x} * kBlock + threadIdx.x);
  const Sum sum = fold_interleaved<kBlock>(values);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Status launch(detail::AggregateCall& call, const Policy&) noexcept {
  return SumPerBlock<>::launch(call, interleaved_select_and_sum);
}

constexpr auto workspace = &SumPerBlock<>::workspace;

}  // namespace

}  // namespace upsweep::aggregate
#endif

namespace upsweep::aggregate {

extern const Rung cuda_interleaved{.info = {.id = "cuda.interleaved",
                                            .idea = "blocks sum by a tree of strided neighbours",
                                            .needs = "any GPU",
                                            .traffic = kSectors,
                                            .host_adds = true},
                                   .refusal = host_adds_refusal,
                                   .run = launch,
                                   .workspace = workspace};

}  // namespace upsweep::aggregate
