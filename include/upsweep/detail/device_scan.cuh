// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/device_scan.cuh: what a device scan scans, and the launch of the kernel that suits its size.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "upsweep/detail/cuda_status.hpp"
#include "upsweep/detail/lookback_scan.cuh"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/small_scan.cuh"
#include "upsweep/detail/tile_pipeline.cuh"

namespace upsweep::gpu::detail {

/// The odd number of 16-byte units nearest to five that holds whole elements; fewer where results are wider.
constexpr int lane_units(int in_bytes, int out_bytes) {
  const int whole = in_bytes / common_divisor(in_bytes, 16);
  if (whole > 1) return whole == 3 ? 3 : whole;
  if (out_bytes <= in_bytes) return 5;
  return out_bytes <= 2 * in_bytes ? 3 : 1;
}

/// A scan of one array. kCompiled: one of the library's operators, which commute and may see any bits.
template <class In_, class T_, class Op_, bool kCompiled>
struct ScanProblem {
  using In = In_;
  using T = T_;
  using Op = Op_;
  static constexpr int kStreams = 1;
  static constexpr int kWarps = 10;
  static constexpr int kUnits = lane_units(sizeof(In), sizeof(T));
  static constexpr int kLoadsInFlight = 3;
  static constexpr int kStoresInFlight = 1;
  static constexpr bool kEndsWithTotal = false;  // an exclusive scan writes what comes behind the last element too
  static constexpr bool kFillsTail = !kCompiled;
  static constexpr bool kCommutes = kCompiled;
  Op op;
};

/// One launch, as the host describes it.
template <class Problem>
struct DeviceScan {
  const typename Problem::In* in[Problem::kStreams];
  typename Problem::T* out;
  std::int64_t n;
  typename Problem::T init;
  bool has_init;
  bool exclusive;
  Problem problem;
};

template <class Problem>
constexpr std::int64_t tiles_of(std::int64_t n) {
  return (n + Shape<Problem>::kTile - 1) / Shape<Problem>::kTile;
}

/// The longest scan that one launch of small_scan takes; it needs no workspace.
template <class Problem>
inline constexpr std::int64_t kSmallLength = std::int64_t{kMaxCluster} * 512 * 4 * kRowElements<Problem>;

/// Bytes of workspace for n elements: 0 where none is needed.
template <class Problem>
constexpr std::int64_t workspace_bytes(std::int64_t n) {
  if (n <= kSmallLength<Problem>) return 0;
  // Two values more: look-ahead reads 16 bytes at a time.
  return std::int64_t{sizeof(Control)} + (tiles_of<Problem>(n) + 2) * kTaggedWords<typename Problem::T> * 8;
}

template <class Problem, int kRows, int kThreads, bool kCluster>
cudaError_t launch_small(const SmallCall<Problem>& call, int blocks, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(blocks);
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = kCluster ? 1 : 0;
  return cudaLaunchKernelEx(&config, small_scan<Problem, kRows, kThreads, kCluster>, call);
}

/// n is at most kSmallLength. One block up to 32 KB; then a cluster, in one row per thread where eight blocks suffice.
template <class Problem>
cudaError_t launch_small(const DeviceScan<Problem>& scan, cudaStream_t stream) {
  constexpr int kCount = kRowElements<Problem>;
  SmallCall<Problem> call = {};
  bool vectors = reinterpret_cast<std::uintptr_t>(scan.out) % 16 == 0;
  for (int k = 0; k < Problem::kStreams; ++k) {
    call.in[k] = scan.in[k];
    vectors = vectors && reinterpret_cast<std::uintptr_t>(scan.in[k]) % 16 == 0;
  }
  call.out = scan.out;
  call.n = static_cast<int>(scan.n);
  call.init = scan.init;
  call.has_init = scan.has_init;
  call.exclusive = scan.exclusive;
  call.vectors = vectors;
  call.problem = scan.problem;
  if (call.n <= 256 * kCount) return launch_small<Problem, 1, 256, false>(call, 1, stream);
  if (call.n <= 512 * 4 * kCount) return launch_small<Problem, 4, 512, false>(call, 1, stream);
  const bool one_row = call.n <= kMaxCluster * 512 * kCount;
  const int per_block = 512 * kCount * (one_row ? 1 : 4);
  int blocks = 2;
  while (blocks * per_block < call.n) blocks *= 2;
  return one_row ? launch_small<Problem, 1, 512, true>(call, blocks, stream)
                 : launch_small<Problem, 4, 512, true>(call, blocks, stream);
}

/// Any n above 0. `multiprocessors`: of the current device, which is `device`.
template <class Problem>
cudaError_t launch_scan(const DeviceScan<Problem>& scan, const Workspace& workspace, int device, int multiprocessors,
                        cudaStream_t stream) {
  if (scan.n <= kSmallLength<Problem>) return launch_small(scan, stream);
  using S = Shape<Problem>;
  // Once per device: the kernel takes nearly all of a multiprocessor's shared memory.
  static std::atomic<std::uint64_t> allowed{0};
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((allowed.load(std::memory_order_relaxed) & bit) == 0) {
    const cudaError_t error =
        cudaFuncSetAttribute(tile_pipeline<Problem>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kShared);
    if (error != cudaSuccess) return error;
    allowed.fetch_or(bit, std::memory_order_relaxed);
  }
  PipelineCall<Problem> call = {};
  for (int k = 0; k < Problem::kStreams; ++k) call.in[k] = scan.in[k];
  call.out = scan.out;
  call.n = scan.n;
  call.tiles = tiles_of<Problem>(scan.n);
  call.workspace = workspace;
  call.init = scan.init;
  call.has_init = scan.has_init;
  call.exclusive = scan.exclusive;
  call.problem = scan.problem;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(multiprocessors, call.tiles));
  tile_pipeline<Problem><<<blocks, S::kThreads, S::kShared, stream>>>(call);
  return cudaGetLastError();
}

/// What of an erased call's launch the kernels work in.
inline Workspace workspace_of(const Launch& launch) { return workspace_at(launch.kept, launch.size.kept); }

/// Runs an erased call by look-ahead as a scan of In into T with `op`.
template <class In, class T, class Op, bool kCompiled>
Status run_lookahead(const upsweep::detail::ScanCall& call, const Op& op) noexcept {
  using Problem = ScanProblem<In, T, Op, kCompiled>;
  const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
  const Launch& launch = *call.launch;
  const DeviceScan<Problem> scan{.in = {static_cast<const In*>(call.in)},
                                 .out = static_cast<T*>(call.out),
                                 .n = call.n,
                                 .init = carry.total,
                                 .has_init = carry.any,
                                 .exclusive = call.exclusive,
                                 .problem = {op}};
  return status_of(launch_scan(scan, workspace_of(launch), launch.device, launch.multiprocessors, launch.stream));
}

/// The same by look-back.
template <class In, class T, class Op, bool kCompiled>
Status run_lookback(const upsweep::detail::ScanCall& call, const Op& op) noexcept {
  using Problem = ScanProblem<In, T, Op, kCompiled>;
  const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
  const LookbackCall<Problem> scan{.in = static_cast<const In*>(call.in),
                                   .out = static_cast<T*>(call.out),
                                   .n = call.n,
                                   .workspace = workspace_of(*call.launch),
                                   .init = carry.total,
                                   .has_init = carry.any,
                                   .exclusive = call.exclusive,
                                   .op = op};
  return status_of(launch_lookback(scan, call.launch->stream));
}

}  // namespace upsweep::gpu::detail
