// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/kernels.cu: the GPU rungs for one element type, UPSWEEP_ELEMENT; compiled once per
// type.
#include "cuda/scratch_parts.hpp"
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#include "problems/lists/segmented_scan/cuda_tiles.cuh"
#include "problems/lists/segmented_scan/heads.hpp"
#include "upsweep/detail/cuda_status.cuh"

namespace upsweep::impl::segmented_scan {
namespace {

using gpu::detail::launch;
using In = UPSWEEP_ELEMENT;

/// Scans each list with one thread.
template <class T, class Op>
__global__ void __launch_bounds__(kThreads) scan_each(const __grid_constant__ ListScan<In, T, Op> scan) {
  if (blockIdx.x == 0 && threadIdx.x == 0) gpu::report(scan.lists, scan.n, *scan.facts, scan.status);
  if (scan.facts->bad != 0) return;
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < scan.lists.lists.count; i += stride) {
    if (scan.lists.is_null(i)) continue;
    const std::int64_t stop = scan.lists.stop(i);
    T total = scan.init;
    for (std::int64_t j = scan.lists.start(i); j < stop; ++j) {
      const T before = j == scan.lists.start(i) ? scan.first : total;
      if (gpu::is_true(scan.valid, j)) total = scan.op(total, static_cast<T>(scan.in[j]));
      scan.out[j] = scan.exclusive ? before : total;
    }
  }
}

/// Scans each list with one block, one element per thread at a time.
template <class T, class Op>
__global__ void __launch_bounds__(kThreads) scan_each_by_block(const __grid_constant__ ListScan<In, T, Op> scan) {
  __shared__ T totals[kThreads / 32];
  if (blockIdx.x == 0 && threadIdx.x == 0) gpu::report(scan.lists, scan.n, *scan.facts, scan.status);
  if (scan.facts->bad != 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t i = blockIdx.x; i < scan.lists.lists.count; i += gridDim.x) {
    if (scan.lists.is_null(i)) continue;
    const std::int64_t stop = scan.lists.stop(i);
    T before = scan.init;
    for (std::int64_t base = scan.lists.start(i); base < stop; base += kThreads) {
      const std::int64_t at = base + threadIdx.x;
      T loaded[1] = {scan.kNone};
      scan.load(loaded, at, 0, stop);
      const T own = gpu::detail::scan_lanes(scan.op, loaded[0], lane);
      if (lane == 31) totals[threadIdx.x / 32] = own;
      __syncthreads();  // the warps' totals are written
      T own_before = before;
      for (int warp = 0; warp < kThreads / 32; ++warp) {
        if (warp < static_cast<int>(threadIdx.x) / 32) own_before = scan.op(own_before, totals[warp]);
        before = scan.op(before, totals[warp]);
      }
      const T up = gpu::detail::shuffle_up(own, 1);
      const bool is_head = at == scan.lists.start(i);
      const T exclusive = is_head ? scan.first : lane == 0 ? own_before : scan.op(own_before, up);
      if (at < stop) scan.out[at] = scan.exclusive ? exclusive : scan.op(own_before, own);
      __syncthreads();  // all threads have read the totals
    }
  }
}

template <class T>
struct ListScanScratch {
  gpu::ListFacts* facts;
  unsigned* heads;
  Fold<T>* tiles;
  Fold<T>* groups;
  std::int64_t cleared;  ///< number of bytes from the beginning that must be zero first
  std::int64_t bytes;

  ListScanScratch(Way way, std::int64_t n, void* memory) {
    gpu::ScratchParts parts(memory);
    const std::int64_t count = way == Way::tiles ? n / kTile<T> + 1 : 0;
    facts = parts.take<gpu::ListFacts>(1);
    heads = parts.take<unsigned>(way == Way::tiles ? gpu::head_words(n) : 0);
    cleared = parts.bytes();
    tiles = parts.take<Fold<T>>(count);
    groups = parts.take<Fold<T>>(count / kGroup + 1);
    bytes = parts.bytes();
  }
};

template <class T, class Op>
cudaError_t launch_tiles(const ListScan<In, T, Op>& scan, const gpu::Launch& at) {
  const std::int64_t tiles = scan.n / kTile<T> + 1;
  const std::int64_t groups = (tiles + kGroup - 1) / kGroup;
  const auto grid = [&](std::int64_t blocks, unsigned threads) {
    return gpu::detail::Grid{.blocks = static_cast<unsigned>(blocks), .threads = threads, .stream = at.stream};
  };
  cudaError_t error = cudaSuccess;
  if (tiles > 1) {
    constexpr std::int64_t kFolded = kThreads / 32;  // tiles per block
    error = launch(grid((tiles + kFolded - 1) / kFolded, kThreads), fold_tiles<In, T, Op>, scan, tiles);
    if (error == cudaSuccess) {
      error = launch(grid(groups, kGroup), scan_groups<T, Op>, scan.tiles, tiles, scan.groups, scan.op);
    }
  }
  if (groups > 1 && error == cudaSuccess) {
    error = launch(grid(1, kGroup), scan_totals<T, Op>, scan.groups, groups, scan.op);
  }
  return error == cudaSuccess ? launch(grid(tiles, kThreads), scan_tiles<In, T, Op>, scan) : error;
}

gpu::detail::Grid list_grid(std::int64_t threads, const gpu::Launch& at) {
  return {.blocks = gpu::blocks_for(threads, at), .threads = kThreads, .stream = at.stream};
}

template <class T, class Op>
cudaError_t launch_scan(Way way, const ListScan<In, T, Op>& scan, const ListScanScratch<T>& scratch,
                        const detail::SegmentedScanCall& call, const gpu::Launch& at) {
  if (way == Way::tiles) {
    const cudaError_t error = launch_heads(call.lists, call.n, scratch.facts, scratch.heads, at);
    return error == cudaSuccess ? launch_tiles(scan, at) : error;
  }
  const cudaError_t error = gpu::launch_check(call.lists, call.n, scratch.facts, gpu::VisitNothing{}, at);
  if (error != cudaSuccess) return error;
  const gpu::detail::Grid grid = list_grid(call.lists.count * (way == Way::block_per_list ? kThreads : 1), at);
  if (way == Way::thread_per_list) return launch(grid, scan_each<T, Op>, scan);
  return launch(grid, scan_each_by_block<T, Op>, scan);
}

template <class T, class Op>
cudaError_t launch_way(Way way, const detail::SegmentedScanCall& call, Op op) {
  const gpu::Launch& at = *call.launch;
  const ListScanScratch<T> scratch(way, call.n, at.scratch);
  const T init = *static_cast<const T*>(call.init);
  const ListScan<In, T, Op> scan{.lists = {call.lists},
                                 .in = static_cast<const In*>(call.in),
                                 .out = static_cast<T*>(call.out),
                                 .n = call.n,
                                 .init = init,
                                 .first = call.empty_is_zero ? T{} : init,
                                 .op = op,
                                 .exclusive = call.exclusive,
                                 .valid = call.valid,
                                 .facts = scratch.facts,
                                 .heads = scratch.heads,
                                 .tiles = scratch.tiles,
                                 .groups = scratch.groups,
                                 .status = call.status};
  cudaError_t error = cudaMemsetAsync(scratch.facts, 0, static_cast<std::size_t>(scratch.cleared), at.stream);
  if (error == cudaSuccess) error = launch_scan(way, scan, scratch, call, at);
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Add>) {
    if (error == cudaSuccess && call.empty_is_zero && call.valid.is_given()) {
      error = launch(list_grid(call.lists.count * 32, at), zero_nulls<In, T, Op>, scan);
    }
  }
  return error;
}

}  // namespace

template <>
Status scan_from<In>(Way way, const detail::SegmentedScanCall& call) noexcept {
  return with_operator<In>(call, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    return gpu::status_of(launch_way<T>(way, call, op));
  });
}

template <>
std::int64_t scratch_from<In>(Way way, const detail::SegmentedScanCall& call) noexcept {
  std::int64_t bytes = 0;
  (void)with_operator<In>(call, [&]<class T, class Op>(std::type_identity<T>, Op) -> Status {
    bytes = ListScanScratch<T>(way, call.n, nullptr).bytes;
    return {};
  });
  return bytes;
}

}  // namespace upsweep::impl::segmented_scan
