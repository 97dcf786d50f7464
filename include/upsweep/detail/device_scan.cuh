// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/device_scan.cuh: the problem that a device scan solves, and the launch of the kernel for its size.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/lookback_scan.cuh"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/detail/small_scan.cuh"
#include "upsweep/detail/tile_pipeline.cuh"
#include "upsweep/detail/tuning/scan.hpp"

namespace upsweep::gpu::detail {

/// The odd number of 16-byte units that holds whole elements. It is smaller if results are wider. Elements of 32 bytes
/// are two units.
constexpr int lane_units(int in_bytes, int out_bytes) {
  const int whole = in_bytes / common_divisor(in_bytes, 16);
  if (whole > 1) return whole;
  if (out_bytes <= in_bytes) return tuning::kLookaheadOrder.loads;
  return out_bytes <= 2 * in_bytes ? tuning::kLookaheadOrder.wide_loads : 1;
}

/// A scan of one array, as a TileProblem. kCompiled: Op is one of the library's operators, which accept any bits.
template <class In_, class T_, class Op_, bool kCompiled>
struct ScanProblem {
  using In = In_;
  using T = T_;
  using Op = Op_;
  static constexpr int kInputs = 1;
  static constexpr int kWarps = tuning::kLookaheadOrder.warps;
  static constexpr int kUnits = lane_units(sizeof(In), sizeof(T));
  static constexpr int kLoadsInFlight = tuning::kLookahead.loads_in_flight;
  static constexpr int kStoresInFlight = tuning::kLookahead.stores_in_flight;
  static constexpr bool kEndsWithTotal = false;
  static constexpr bool kFillsTail = !kCompiled;
  static constexpr bool kCommutes = kCompiled || is_commutative<Op, T>;
  static constexpr bool kHasHeads = false;
  static constexpr ShardPhase kShardPhase = ShardPhase::whole;
  Op op;
};

inline constexpr int kSmallThreads = tuning::kSmallScanOrder.threads;
inline constexpr int kSmallRows = tuning::kSmallScanOrder.rows;

/// The maximum length that one launch of small_scan scans. It needs no workspace.
template <class Problem>
inline constexpr std::int64_t kSmallLength =
    std::int64_t{kMaxCluster} * kSmallThreads * kSmallRows * kRowElements<Problem>;

/// Bytes of workspace for n elements; 0 if no workspace is needed.
template <class Problem>
constexpr std::int64_t workspace_bytes(std::int64_t n) {
  if (n <= kSmallLength<Problem>) return 0;
  // Two more values, because look-ahead reads 16 bytes at a time.
  return std::int64_t{sizeof(Control)} + (tiles_of<Problem>(n) + 2) * kTaggedWords<typename Problem::T> * 8;
}

template <class Problem, int kRows, int kThreads, bool kCluster>
static cudaError_t launch_small(const DeviceScan<Problem>& scan, int blocks, cudaStream_t stream) {
  const auto count = static_cast<unsigned>(blocks);
  return launch({.blocks = count, .threads = kThreads, .stream = stream, .cluster = kCluster ? count : 1},
                small_scan<Problem, kRows, kThreads, kCluster>, scan);
}

/// Launches small_scan; n is at most kSmallLength. Uses one block if it suffices, otherwise a cluster. The cluster has
/// one row per thread if eight blocks suffice.
template <class Problem>
static cudaError_t launch_small(const DeviceScan<Problem>& scan, cudaStream_t stream) {
  constexpr int kCount = kRowElements<Problem>;
  const int n = static_cast<int>(scan.n);
  constexpr int kLeastThreads = tuning::kSmallScanOrder.least_threads;
  if (n <= kLeastThreads * kCount) return launch_small<Problem, 1, kLeastThreads, false>(scan, 1, stream);
  if (n <= kSmallThreads * kSmallRows * kCount) {
    return launch_small<Problem, kSmallRows, kSmallThreads, false>(scan, 1, stream);
  }
  const bool one_row = n <= kMaxCluster * kSmallThreads * kCount;
  const int per_block = kSmallThreads * kCount * (one_row ? 1 : kSmallRows);
  int blocks = 2;
  while (blocks * per_block < n) blocks *= 2;
  return one_row ? launch_small<Problem, 1, kSmallThreads, true>(scan, blocks, stream)
                 : launch_small<Problem, kSmallRows, kSmallThreads, true>(scan, blocks, stream);
}

/// Launches a kernel that runs Pipeline<Problem> over n elements. `device` is the current device and has
/// `multiprocessors` multiprocessors. The kernel may use nearly all shared memory of a multiprocessor.
template <class Problem, class... Parameters, class... Arguments>
static cudaError_t launch_pipeline(void (*kernel)(Parameters...), std::int64_t n, int device, int multiprocessors,
                                   cudaStream_t stream, const Arguments&... arguments) {
  using S = Shape<Problem>;
  const auto blocks = static_cast<unsigned>(std::min(std::int64_t{multiprocessors}, tiles_of<Problem>(n)));
  const Grid grid{.blocks = blocks, .threads = S::kThreads, .stream = stream, .shared_bytes = S::kShared};
  return launch_large<Problem>(grid, device, kernel, arguments...);
}

/// Launches a scan of n > 0 elements. `device` is the current device and has `multiprocessors` multiprocessors.
template <class Problem>
static cudaError_t launch_scan(const DeviceScan<Problem>& scan, int device, int multiprocessors, cudaStream_t stream) {
  if (scan.n <= kSmallLength<Problem>) return launch_small(scan, stream);
  return launch_pipeline<Problem>(tile_pipeline<Problem>, scan.n, device, multiprocessors, stream, scan);
}

/// The workspace of an erased call's launch.
inline Workspace workspace_of(const Launch& launch) { return workspace_at(launch.kept, launch.size.kept); }

/// An erased call as a scan of In into T with `op`.
template <class In, class T, class Op, bool kCompiled>
DeviceScan<ScanProblem<In, T, Op, kCompiled>> device_scan_of(const upsweep::detail::ScanCall& call, const Op& op) {
  const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
  return {.in = {static_cast<const In*>(call.in)},
          .out = static_cast<T*>(call.out),
          .n = call.n,
          .workspace = workspace_of(*call.launch),
          .init = carry.total,
          .init_at = static_cast<const T*>(call.init_at),
          .n_at = call.n_at,
          .has_init = carry.any,
          .exclusive = call.exclusive,
          .problem = {op}};
}

/// Runs the scan by look-ahead.
template <class In, class T, class Op, bool kCompiled>
static Status run_lookahead(const upsweep::detail::ScanCall& call, const Op& op) noexcept {
  const auto scan = device_scan_of<In, T, Op, kCompiled>(call, op);
  return status_of(launch_scan(scan, call.launch->device, call.launch->multiprocessors, call.launch->stream));
}

/// Runs the scan by look-back.
template <class In, class T, class Op, bool kCompiled>
static Status run_lookback(const upsweep::detail::ScanCall& call, const Op& op) noexcept {
  return status_of(launch_lookback(device_scan_of<In, T, Op, kCompiled>(call, op), call.launch->stream));
}

}  // namespace upsweep::gpu::detail
