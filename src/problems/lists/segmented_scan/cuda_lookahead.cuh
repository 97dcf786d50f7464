// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_lookahead.cuh: scans lists with scan's pipeline of tiles; elements that begin a
// list are heads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/device_lists.cuh"
#include "problems/lists/segmented_scan/folds.cuh"
#include "problems/lists/segmented_scan/heads.hpp"
#include "upsweep/detail/device_scan.cuh"
#include "upsweep/detail/segmented_scan_call.hpp"
#include "upsweep/detail/tuning/segmented_scan.hpp"

namespace upsweep::gpu::detail {

// A tile publishes the value of its fold. A free bit of the tag tells whether the tile has a head.

template <class T>
inline constexpr int kTaggedWords<impl::segmented_scan::Fold<T>> = kTaggedWords<T>;

inline constexpr unsigned kHeadTag = 0x80000000U;

template <class T>
struct Tagged<impl::segmented_scan::Fold<T>> : Tagged<T> {
  using Tagged<T>::kValues;

  __device__ __forceinline__ bool is_there(unsigned tag, std::int64_t count) const {
    bool there = true;
#pragma unroll
    for (int w = 0; w < 2 * Tagged<T>::kLoads; ++w) {
      const int value = kValues == 2 ? w : 0;
      there = there && (count <= value || (tag_of(w) & ~kHeadTag) == tag);
    }
    return there;
  }
  __device__ __forceinline__ impl::segmented_scan::Fold<T> value(int which) const {
    return impl::segmented_scan::fold_of(Tagged<T>::value(which), (tag_of(kValues == 2 ? which : 0) & kHeadTag) != 0);
  }

 private:
  __device__ __forceinline__ unsigned tag_of(int word) const { return static_cast<unsigned>(this->words[word] >> 32); }
};

}  // namespace upsweep::gpu::detail

namespace upsweep::impl::segmented_scan {

/// Found by argument-dependent lookup.
template <class T>
__device__ __forceinline__ void put_tagged(unsigned long long* words, std::int64_t index, const Fold<T>& fold,
                                           unsigned tag) {
  gpu::detail::put_tagged(words, index, fold.value, fold.has_head != 0 ? tag | gpu::detail::kHeadTag : tag);
}

/// A TileProblem with heads.
template <class In_, class T_, class Op_>
struct ListProblem {
  using In = In_;
  using T = T_;
  using Op = Op_;
  using Carry = Fold<T>;
  using Join = impl::segmented_scan::Join<T, Op>;
  static constexpr int kInputs = 1;
  static constexpr int kWarps = gpu::tuning::kListLookaheadOrder.warps;
  static constexpr int kUnits = gpu::detail::lane_units(sizeof(In), sizeof(T));
  static constexpr int kLoadsInFlight = gpu::tuning::kListLookahead.loads_in_flight;
  static constexpr int kStoresInFlight = gpu::tuning::kListLookahead.stores_in_flight;
  static constexpr bool kEndsWithTotal = false;
  static constexpr bool kFillsTail = false;
  static constexpr bool kCommutes = true;
  static constexpr bool kHasHeads = true;
  static constexpr gpu::detail::ShardPhase kShardPhase = gpu::detail::ShardPhase::whole;
  static_assert(is_commutative<Op, T>);
  static constexpr T kNone = Op::template identity<T>();

  Op op;
  T init;
  T first;                 ///< first output of a list if exclusive: init, or 0.0 for sums of floats without init
  const unsigned* heads;   ///< from the first tile's elements on
  std::int64_t unwritten;  ///< number of elements of the first tile before all lists

  /// Joins the folds of rows of 32 tiles, lane by lane, with those of the first `count` lanes of the next row. Only
  /// folds from the last head on count.
  __device__ __forceinline__ Carry join_rows(const Carry& before, bool any, const Carry& row, int lane,
                                             int count) const {
    const unsigned lanes = __ballot_sync(gpu::detail::kAllLanes, lane < count && row.has_head != 0);
    const int last = 31 - __clz(static_cast<int>(lanes));  // -1: none
    const bool is_row = lane < count && lane >= last;
    T joined = lanes == 0 && any ? before.value : kNone;
    if (is_row) joined = op(joined, row.value);
    return fold_of(joined, false);
  }
  /// Returns the fold of a row, on lane 0.
  __device__ __forceinline__ Carry fold_row(const Carry& row) const {
    return fold_of(gpu::detail::fold_lanes(op, row.value, static_cast<int>(threadIdx.x) % 32), false);
  }
  template <int kCount>
  __device__ __forceinline__ Carry fold(const T (&items)[kCount], const gpu::detail::HeadBits<kCount>& heads) const {
    T total = heads[0] ? op(init, items[0]) : items[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) total = op(heads[i] ? init : total, items[i]);
    return fold_of(total, heads.any());
  }
  template <int kCount>
  __device__ __forceinline__ void scan(const Carry& carry, T (&items)[kCount],
                                       const gpu::detail::HeadBits<kCount>& heads, bool exclusive) const {
    T total = carry.value;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const T before = heads[i] ? init : total;
      total = op(before, items[i]);
      items[i] = !exclusive ? total : heads[i] ? first : before;
    }
  }
};

// ------------------------------------------------------------------------------------------------------------ the scan

/// Scans the lists. The arrays begin with the tile in which the first list begins.
template <class Problem>
static __global__ void __launch_bounds__(gpu::detail::Shape<Problem>::kThreads, 1)
    scan_marked(const __grid_constant__ gpu::detail::DeviceScan<Problem> call,
                const __grid_constant__ gpu::DeviceLists lists, const gpu::ListFacts* facts, gpu::ListsStatus* status) {
#if __CUDA_ARCH__ >= 900
  constexpr std::int64_t kTile = gpu::detail::Shape<Problem>::kTile;
  extern __shared__ __align__(128) char shared[];
  if (blockIdx.x == 0 && threadIdx.x == 0) gpu::report(lists, call.n, *facts, status);
  if (facts->bad != 0 || facts->end == 0) return;
  const auto begin = static_cast<std::int64_t>(~facts->before);
  const std::int64_t skipped = begin / kTile * kTile;
  gpu::detail::DeviceScan<Problem> scan = call;
  scan.in[0] += skipped;
  scan.out += skipped;
  scan.n = static_cast<std::int64_t>(facts->end) - skipped;
  scan.problem.heads += skipped / 32;
  scan.problem.unwritten = begin - skipped;
  gpu::detail::Pipeline<Problem>(scan, shared).run();
#else
  __trap();  // lookahead_refusal() excludes such calls
#endif
}

/// Returns the scratch bytes for n elements: the findings of the pass over the bounds, and the heads of whole tiles.
template <class Problem>
constexpr std::int64_t head_bytes(std::int64_t n) {
  return gpu::detail::tiles_of<Problem>(n) * gpu::detail::Shape<Problem>::kHeadBytes;
}
inline constexpr std::int64_t kFactsBytes = 256;
static_assert(sizeof(gpu::ListFacts) <= kFactsBytes);

template <class Problem>
constexpr gpu::WorkspaceSize lookahead_workspace(std::int64_t n) {
  constexpr std::int64_t kAhead = 2;  // number of values that look-ahead may read past the last
  const std::int64_t words =
      (gpu::detail::tiles_of<Problem>(n) + kAhead) * gpu::detail::kTaggedWords<typename Problem::Carry>;
  return {.kept = std::int64_t{sizeof(gpu::detail::Control)} + words * 8,
          .scratch = kFactsBytes + head_bytes<Problem>(n)};
}

template <class Problem>
cudaError_t launch_lookahead(const detail::SegmentedScanCall& call, typename Problem::Op op) {
  using In = typename Problem::In;
  using T = typename Problem::T;
  const gpu::Launch& at = *call.launch;
  auto* const facts = static_cast<gpu::ListFacts*>(at.scratch);
  auto* const heads = reinterpret_cast<unsigned*>(static_cast<char*>(at.scratch) + kFactsBytes);
  const auto cleared = static_cast<std::size_t>(kFactsBytes + head_bytes<Problem>(call.n));
  cudaError_t error = cudaMemsetAsync(at.scratch, 0, cleared, at.stream);
  if (error == cudaSuccess) error = launch_heads(call.lists, call.n, facts, heads, at);
  if (error != cudaSuccess) return error;
  const T init = *static_cast<const T*>(call.init);
  const gpu::detail::DeviceScan<Problem> scan{.in = {static_cast<const In*>(call.in)},
                                              .out = static_cast<T*>(call.out),
                                              .n = call.n,
                                              .workspace = gpu::detail::workspace_of(at),
                                              .init = init,
                                              .has_init = false,
                                              .exclusive = call.exclusive,
                                              .problem = {op, init, call.empty_is_zero ? T{} : init, heads, 0}};
  return gpu::detail::launch_pipeline<Problem>(scan_marked<Problem>, call.n > 0 ? call.n : 1, at.device,
                                               at.multiprocessors, at.stream, scan, gpu::DeviceLists{call.lists}, facts,
                                               call.status);
}

}  // namespace upsweep::impl::segmented_scan
