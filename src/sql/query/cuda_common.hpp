// SPDX-License-Identifier: Apache-2.0
// sql/query/cuda_common.hpp: the lines of a query's source that all queries share: CUDA C++, for NVRTC.
#pragma once

#include <string_view>

namespace upsweep::query {

// Words in device memory: all threads read the same words, through the read-only cache.
inline constexpr std::string_view kWordsInMemory = R"(
struct {
  const u64* words;
  __device__ __forceinline__ u64 operator[](int i) const { return __ldg(words + i); }
} w;
)";

inline constexpr std::string_view kFoldLanes = R"(template <class State>
INLINE void fold_lanes(u64 (&s)[State::kWords], int lane, bool& bad) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    u64 o[State::kWords];
#pragma unroll
    for (int k = 0; k < State::kWords; ++k) o[k] = __shfl_down_sync(~0U, s[k], d);
    if ((lane & (2 * d - 1)) == 0) State::merge(s, o, bad);
  }
}
)";

// Runs after the rows: folds the block's copies into one.
inline constexpr std::string_view kFoldRegisters = R"(fold_lanes<Own>(s, lane, bad);
__shared__ u64 warps[T / 32][OWN];
if (lane == 0) {
  for (int k = 0; k < OWN; ++k) warps[threadIdx.x / 32][k] = s[k];
}
__syncthreads();
if (threadIdx.x < 32) {
  for (int k = 0; k < OWN; ++k) s[k] = lane < T / 32 ? warps[lane][k] : 0;
  fold_lanes<Own>(s, lane, bad);
  if (lane == 0) {
    for (int k = 0; k < OWN; ++k) partials[blockIdx.x * OWN + k] = s[k];
  }
}
)";
inline constexpr std::string_view kFoldThreads = R"(__syncthreads();
for (i64 g = threadIdx.x / 32; g < groups; g += T / 32) {
  u64 s[OWN] = {};
  for (int t = lane; t < T; t += 32) {
    u64 o[OWN];
    for (int k = 0; k < OWN; ++k) o[k] = cells[(g * OWN + k) * T + t];
    Own::merge(s, o, bad);
  }
  fold_lanes<Own>(s, lane, bad);
  if (lane == 0) {
    for (int k = 0; k < OWN; ++k) partials[(blockIdx.x * groups + g) * OWN + k] = s[k];
  }
}
)";
// Lanes with the same group take turns by rank, so that the order is that of the rows.
inline constexpr std::string_view kTakeTurns = R"(const unsigned peers = __match_any_sync(~0U, group);
const int rank = keep[u] ? __popc(peers & ((1U << lane) - 1)) : -1;
for (int turn = 0; __any_sync(~0U, rank >= turn); ++turn) {
if (rank == turn) {
u64* const s = own + group * OWN;
)";

// For fmt::format: a warp per group merges its copies.
inline constexpr std::string_view kMerge =
    R"(extern "C" __global__ void __launch_bounds__(128) merge(const __grid_constant__ Words a) {{
  const int lane = (int)threadIdx.x % 32;
  const i64 groups = (i64)a.w[{groups}], copies = (i64)a.w[{copies}];
  const u64* const partials = (const u64*)a.w[{partials}];
  u64* const merged = (u64*)a.w[{merged}];
  bool bad = false;
  for (i64 g = (i64)blockIdx.x * 4 + threadIdx.x / 32; g < groups; g += (i64)gridDim.x * 4) {{
    u64 s[ALL] = {{}};
    for (i64 copy = lane; copy < copies; copy += 32) {{
      u64 o[ALL];
      widen(partials + (copy * groups + g) * OWN, o);
      All::merge(s, o, bad);
    }}
    fold_lanes<All>(s, lane, bad);
    if (lane == 0) {{
      for (int k = 0; k < ALL; ++k) merged[g * ALL + k] = s[k];
    }}
  }}
  if (bad) *(int*)a.w[{trouble}] = 1;
}}
)";

// For fmt::format: finds the key's group in a hash table in device memory.
inline constexpr std::string_view kFind = R"(INLINE int find(const Words& a, const u64 (&key)[KEY]) {{
  unsigned* const tags = (unsigned*)a.w[{tags}];
  u64* const keys = (u64*)a.w[{keys}];
  const unsigned mask = (unsigned)a.w[{mask}];
  u64 hash = 0;
  for (int k = 0; k < KEY; ++k) {{
    hash = hash * 31 + key[k];
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  }}
  // A tag: 0 free, 1 being taken, all ones given up, else a group + 2 whose key is there.
  for (unsigned place = (unsigned)hash & mask;; place = (place + 1) & mask) {{
    unsigned tag = *(volatile unsigned*)(tags + place);
    if (tag == 0) {{
      tag = atomicCAS(tags + place, 0U, 1U);
      if (tag == 0) {{
        const unsigned group = atomicAdd((unsigned*)a.w[{found}], 1U);
        if (group >= (unsigned)a.w[{limit}]) {{
          ((int*)a.w[{trouble}])[1] = 1;
          atomicExch(tags + place, ~0U);
          return -1;
        }}
        for (int k = 0; k < KEY; ++k) keys[(i64)group * KEY + k] = key[k];
        __threadfence();  // the key is there before the tag says so
        atomicExch(tags + place, group + 2);
        return (int)group;
      }}
    }}
    while (tag == 1) tag = *(volatile unsigned*)(tags + place);
    if (tag == ~0U) return -1;
    __threadfence();  // the tag is read before the key
    const u64* const known = keys + (i64)(tag - 2) * KEY;
    bool same = true;
    for (int k = 0; k < KEY; ++k) same &= __ldcg(known + k) == key[k];
    if (same) return (int)(tag - 2);
  }}
}}
)";

}  // namespace upsweep::query
