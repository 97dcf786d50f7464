// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/small_scan.cuh: a scan in one launch, held in the registers of one block or one cluster of blocks.
#pragma once

#include <cstdint>

#include "upsweep/detail/device.cuh"

namespace upsweep::gpu::detail {

inline constexpr int kMaxCluster = 8;  // every chip with clusters supports this number of blocks in a cluster

/// Elements of a thread's row: 16 bytes of the wider type of input and output, so that both are whole vectors.
template <class Problem>
inline constexpr int kRowElements = [] {
  constexpr int kWide = sizeof(typename Problem::In) > sizeof(typename Problem::T) ? sizeof(typename Problem::In)
                                                                                   : sizeof(typename Problem::T);
  return 16 % kWide == 0 ? 16 / kWide : 1;
}();

template <class T, int kCount>
struct alignas(16 % (sizeof(T) * kCount) == 0 ? sizeof(T) * kCount : alignof(T)) VectorOf {
  T values[kCount];
};

/// Every thread takes kRows rows of its warp. A warp's rows are consecutive, so that loads are coalesced. Past the end
/// the last element is read again. It is a valid value, and its results are not written. Static: see tile_pipeline.
template <class Problem, int kRows, int kThreads, bool kCluster>
static __global__ void __launch_bounds__(kThreads) small_scan(const __grid_constant__ DeviceScan<Problem> call) {
  using In = typename Problem::In;
  using T = typename Problem::T;
  constexpr int kWarps = kThreads / 32;
  constexpr int kCount = kRowElements<Problem>;
  constexpr int kInputs = Problem::kInputs;
  constexpr bool kVectors =
      kCount * sizeof(In) <= 16 && kCount * sizeof(T) <= 16 && 16 % sizeof(In) == 0 && 16 % sizeof(T) == 0;
  __shared__ alignas(kElementAlignment) unsigned char warp_bytes[kWarps * sizeof(T)];
  __shared__ alignas(kElementAlignment) unsigned char block_bytes[kMaxCluster * sizeof(T)];
  T* const warp_total = reinterpret_cast<T*>(warp_bytes);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto op = call.problem.op;
  const int n = static_cast<int>(call.length());
  if (n == 0) return;
  bool vectors = kVectors && reinterpret_cast<std::uintptr_t>(call.out) % 16 == 0;
#pragma unroll
  for (int k = 0; k < kInputs; ++k) vectors = vectors && reinterpret_cast<std::uintptr_t>(call.in[k]) % 16 == 0;
#if __CUDA_ARCH__ >= 900
  // Every block must run before its shared memory is written to; the wait comes later.
  if (kCluster) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  if (kCluster) __trap();  // unreachable because of lookahead_refusal()
#endif
  const int base = (static_cast<int>(blockIdx.x) * kWarps + warp) * kRows * 32 * kCount;
  T items[kRows][kCount];

  // ---- Load.
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int first = base + (r * 32 + lane) * kCount;
    In x[kInputs][kCount];
    if (kVectors && vectors && first + kCount <= n) {
#pragma unroll
      for (int k = 0; k < kInputs; ++k) {
        const auto vector = *reinterpret_cast<const VectorOf<In, kCount>*>(call.in[k] + first);
        memcpy(x[k], &vector, sizeof vector);
      }
    } else {
#pragma unroll
      for (int k = 0; k < kInputs; ++k) {
        const In* const row = call.in[k] + first;
        const In last = call.in[k][n - 1];
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[k][i] = first + i < n ? row[i] : last;
      }
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kInputs == 1) {
        items[r][i] = static_cast<T>(x[0][i]);
      } else {
        items[r][i] = call.problem.item(x[0][i], x[1][i]);
      }
    }
  }

  // ---- Scan the rows, the lanes, then the prefix of each row of the warp.
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int i = 1; i < kCount; ++i) items[r][i] = op(items[r][i - 1], items[r][i]);
  }
  T before[kRows];  // the prefix of the thread's row within the warp; undefined in lane 0 of row 0
  T total{};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const T inclusive = scan_lanes(op, items[r][kCount - 1], lane);
    const T left = shuffle_up(inclusive, 1);
    before[r] = r == 0 ? left : lane == 0 ? total : op(total, left);
    const T all = shuffle(inclusive, 31);
    total = r == 0 ? all : op(total, all);
  }
  if (lane == 0) warp_total[warp] = total;
  __syncthreads();

  // ---- The prefix of the warp: the blocks before, then the warps before.
  T prefix = call.initial();
  bool any = call.has_init;
  const T warp_inclusive = scan_lanes<kWarps>(op, warp_total[lane < kWarps ? lane : 0], lane);
#if __CUDA_ARCH__ >= 900
  if constexpr (kCluster) {
    unsigned rank = 0;
    unsigned size = 0;
    asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0,%%cluster_nctarank;" : "=r"(size));
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    const T block = shuffle(warp_inclusive, kWarps - 1);
    if (warp == 0 && lane < static_cast<int>(size)) {  // lane i writes to block i
      std::uint32_t words[kWordsOf<T>] = {};
      memcpy(words, &block, sizeof(T));
      std::uint32_t to = 0;
      const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(block_bytes + rank * sizeof(T)));
      asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(to) : "r"(place), "r"(lane));
      if constexpr (sizeof(T) % 4 == 0) {
        for (int w = 0; w < kWordsOf<T>; ++w) {
          asm volatile("st.shared::cluster.u32 [%0],%1;" ::"r"(to + 4 * w), "r"(words[w]) : "memory");
        }
      } else {
        for (int b = 0; b < int{sizeof(T)}; ++b) {
          const std::uint32_t byte = words[b / 4] >> (8 * (b % 4)) & 0xffU;
          asm volatile("st.shared::cluster.u8 [%0],%1;" ::"r"(to + b), "r"(byte) : "memory");
        }
      }
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
    const T* const block_total = reinterpret_cast<const T*>(block_bytes);
    for (int b = 0; b < static_cast<int>(rank); ++b) {
      prefix = any ? op(prefix, block_total[b]) : block_total[b];
      any = true;
    }
  }
#endif
  const T warps_before = shuffle(warp_inclusive, warp > 0 ? warp - 1 : 0);
  if (warp > 0) {
    prefix = any ? op(prefix, warps_before) : warps_before;
    any = true;
  }

  // ---- Write.
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int first = base + (r * 32 + lane) * kCount;
    T left = prefix;
    bool left_any = any;
    if (r > 0 || lane > 0) {
      left = any ? op(prefix, before[r]) : before[r];
      left_any = true;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) items[r][i] = left_any ? op(left, items[r][i]) : items[r][i];
    if constexpr (Problem::kEndsWithTotal) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (first + i == n - 1) call.out[n] = items[r][i];
      }
    }
    if (call.exclusive) {
#pragma unroll
      for (int i = kCount - 1; i > 0; --i) items[r][i] = items[r][i - 1];
      items[r][0] = left;
    }
    if (kVectors && vectors && first + kCount <= n) {
      VectorOf<T, kCount> vector;
      memcpy(&vector, items[r], sizeof vector);
      *reinterpret_cast<VectorOf<T, kCount>*>(call.out + first) = vector;
    } else {
      T* const row = call.out + first;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (first + i < n) row[i] = items[r][i];
      }
    }
  }
}

}  // namespace upsweep::gpu::detail
