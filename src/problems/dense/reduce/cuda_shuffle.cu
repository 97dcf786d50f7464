// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cuda_shuffle.cu: blocks fold by warp shuffles and write a total; a second launch folds these.
//
// Idea   A warp takes 32 neighboring elements at a time and folds them by shuffles. A block folds its warps and writes
//        one total. One block of a second launch folds these totals in the same way: a launch is a barrier for all
//        blocks.
// Cost   n read, and a total per block. Work n·log2 32 on 32 lanes, depth n/warps·log2 32.
// Needs  Any GPU; scratch for at most 1024 totals.
// Limit  One element per lane and load, five shuffles for each, a second launch (about 2 us). cuda.one_kernel loads 16
//        bytes at a time, shuffles once at the end, and its last block folds the totals.
// From   The tree reduction of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012), with shuffles
//        instead of shared memory.
#include "problems/dense/reduce/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <algorithm>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/teaching.hpp"
#endif

namespace upsweep::impl::reduce {

namespace {

#if UPSWEEP_HAS_CUDA
constexpr int kWarps = gpu::tuning::kTeachingOrder.reduce_warps;
constexpr std::int64_t kMostBlocks = gpu::tuning::kTeachingOrder.reduce_blocks;

/// Folds `share` elements per warp, a multiple of 32. The last warps may have fewer elements, or none.
template <class T, class Op>
__global__ void fold_shares(Op op, const T* in, std::int64_t n, std::int64_t share, bool has_init, T init, T* out) {
  __shared__ __align__(16) unsigned char memory[kWarps * sizeof(T)];
  T* const warp_totals = reinterpret_cast<T*>(memory);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t block_first = std::int64_t{blockIdx.x} * kWarps * share;
  const std::int64_t first = block_first + warp * share;
  const std::int64_t last = first + share < n ? first + share : n;

  // [guide: warps]
  // ---- Warps: 32 elements at a time.
  T total{};
  for (std::int64_t i = first; i < last; i += 32) {
    const int count = last - i < 32 ? static_cast<int>(last - i) : 32;
    const T row = gpu::detail::fold_lanes(op, in[lane < count ? i + lane : i], lane, count);
    total = i == first ? row : op(total, row);
  }
  if (lane == 0) warp_totals[warp] = total;
  __syncthreads();  // all totals are written
  // [guide: end]

  // ---- The block: folds those of its warps that had elements.
  if (warp > 0) return;
  const std::int64_t left = (n - block_first + share - 1) / share;
  const int warps = left < kWarps ? static_cast<int>(left) : kWarps;
  total = gpu::detail::fold_lanes(op, warp_totals[lane < warps ? lane : 0], lane, warps);
  if (lane != 0) return;
  if (warps <= 0) {
    *out = init;
  } else {
    out[blockIdx.x] = has_init ? op(init, total) : total;
  }
}

std::int64_t share_of(std::int64_t n, std::int64_t blocks) {
  return std::max<std::int64_t>((n + blocks * kWarps * 32 - 1) / (blocks * kWarps * 32), 1) * 32;
}

Status launch(const detail::ReduceCall& call, const Policy&) noexcept {
  return with_few_types(call.out_type, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
    const auto fold = [&](std::int64_t blocks, auto... arguments) {
      return gpu::detail::launch(
          {.blocks = static_cast<unsigned>(blocks), .threads = kWarps * 32, .stream = call.launch->stream},
          fold_shares<T, Op>, op, arguments...);
    };
    auto* totals = static_cast<T*>(call.launch->scratch);
    const std::int64_t share = share_of(call.n, kMostBlocks);
    const std::int64_t blocks = (call.n + share * kWarps - 1) / (share * kWarps);  // blocks that have elements
    if (blocks > 0) {
      const cudaError_t error = fold(blocks, static_cast<const T*>(call.in), call.n, share, false, T{}, totals);
      if (error != cudaSuccess) return gpu::status_of(error);
    }
    return gpu::status_of(
        fold(1, totals, blocks, share_of(blocks, 1), carry.any, carry.total, static_cast<T*>(call.out)));
  });
}

gpu::WorkspaceSize workspace(const detail::ReduceCall& call) noexcept {
  return {.scratch = kMostBlocks * call.out_size};
}
#endif

const char* shuffle_refusal(const detail::ReduceCall& call, const Policy&) noexcept {
  return teaching_refusal(call.op, call.in_type, call.out_type);
}

}  // namespace

extern const Rung cuda_shuffle{.info = {.id = "cuda.shuffle",
                                        .idea = "warps by shuffles, blocks, then a launch for totals",
                                        .needs = "any GPU",
                                        .traffic = "n read",
                                        .cost = "n·log 32, n/warps",
                                        .limit = "one element per load, five shuffles for it, a second launch"},
                               .refusal = shuffle_refusal,
                               .run = launch,
                               .workspace = workspace};

}  // namespace upsweep::impl::reduce
