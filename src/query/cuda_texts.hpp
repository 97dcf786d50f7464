// SPDX-License-Identifier: Apache-2.0
// query/cuda_texts.hpp: the parts of a query's source that are the same for all queries: CUDA C++, for NVRTC.
#pragma once

#include <string_view>

namespace upsweep::query {

/// What every source starts with.
inline constexpr std::string_view kPrelude = R"(typedef long long i64;
typedef unsigned long long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
#define INLINE static __device__ __forceinline__

INLINE i64 checked_add(i64 a, i64 b, bool& bad) {
  const i64 r = (i64)((u64)a + (u64)b);
  bad |= ((a ^ r) & (b ^ r)) < 0;
  return r;
}
INLINE i64 checked_subtract(i64 a, i64 b, bool& bad) {
  const i64 r = (i64)((u64)a - (u64)b);
  bad |= ((a ^ b) & (a ^ r)) < 0;
  return r;
}
INLINE i64 checked_multiply(i64 a, i64 b, bool& bad) {
  const i64 low = (i64)((u64)a * (u64)b);
  bad |= __mul64hi(a, b) != (low >> 63);
  return low;
}
INLINE i128 checked_add(i128 a, i128 b, bool& bad) {
  const i128 r = (i128)((u128)a + (u128)b);
  bad |= ((a ^ r) & (b ^ r)) < 0;
  return r;
}
INLINE i128 checked_subtract(i128 a, i128 b, bool& bad) {
  const i128 r = (i128)((u128)a - (u128)b);
  bad |= ((a ^ b) & (a ^ r)) < 0;
  return r;
}
INLINE u128 magnitude(i128 a) { return a < 0 ? (u128)0 - (u128)a : (u128)a; }
INLINE i128 checked_multiply(i128 a, i128 b, bool& bad) {
  const u128 x = magnitude(a), y = magnitude(b);
  const u64 x_high = (u64)(x >> 64), y_high = (u64)(y >> 64);
  const u128 cross = (u128)x_high * (u64)y + (u128)y_high * (u64)x;
  const u128 low = (u128)(u64)x * (u64)y;
  const u128 r = low + (cross << 64);
  const bool negative = (a < 0) != (b < 0);
  const u128 most = ((u128)1 << 127) - (negative ? 0 : 1);
  bad |= (x_high != 0 && y_high != 0) || (cross >> 64) != 0 || r < low || r > most;
  return (i128)(negative ? (u128)0 - r : r);
}
// NaN is equal to itself and greater than all else.
INLINE bool is_less(double a, double b) { return a < b || (b != b && a == a); }
INLINE bool is_equal(double a, double b) { return a == b || (a != a && b != b); }
INLINE bool is_real(i128 a) { return magnitude(a) <= (u128)1 << 53; }
INLINE i128 join(u64 low, u64 high) { return (i128)((u128)high << 64 | low); }
INLINE double real(u64 bits) { return __longlong_as_double((i64)bits); }
INLINE u64 bits_of(double value) { return (u64)__double_as_longlong(value); }
template <class T>
INLINE T at(u64 values, i64 row) { return __ldg((const T*)values + row); }
INLINE i128 wide_at(u64 values, i64 row) {
  return join(__ldg((const u64*)values + 2 * row), __ldg((const u64*)values + 2 * row + 1));
}
INLINE bool bit_at(u64 bits, i64 row) { return (__ldg((const unsigned char*)bits + (row >> 3)) >> (row & 7)) & 1; }
)";

inline constexpr std::string_view kFoldLanes = R"(template <int WORDS, class Merge>
INLINE void fold_lanes(u64 (&s)[WORDS], int lane, bool& bad, Merge merge) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    u64 o[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; ++k) o[k] = __shfl_down_sync(~0U, s[k], d);
    if ((lane & (2 * d - 1)) == 0) merge(s, o, bad);
  }
}
struct MergeOwn {
  __device__ void operator()(u64* s, const u64* o, bool& bad) const { merge_own(s, o, bad); }
};
struct MergeAll {
  __device__ void operator()(u64* s, const u64* o, bool& bad) const { merge_all(s, o, bad); }
};
)";

// Behind the rows: the block's copies become one.
inline constexpr std::string_view kFoldRegisters = R"(fold_lanes(s, lane, bad, MergeOwn());
__shared__ u64 warps[T / 32][OWN];
if (lane == 0) {
  for (int k = 0; k < OWN; ++k) warps[threadIdx.x / 32][k] = s[k];
}
__syncthreads();
if (threadIdx.x < 32) {
  for (int k = 0; k < OWN; ++k) s[k] = lane < T / 32 ? warps[lane][k] : 0;
  fold_lanes(s, lane, bad, MergeOwn());
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
    merge_own(s, o, bad);
  }
  fold_lanes(s, lane, bad, MergeOwn());
  if (lane == 0) {
    for (int k = 0; k < OWN; ++k) partials[(blockIdx.x * groups + g) * OWN + k] = s[k];
  }
}
)";
// Lanes with one group take turns: by rank, so that the order is that of the rows.
inline constexpr std::string_view kTakeTurns = R"(const unsigned peers = __match_any_sync(~0U, group);
const int rank = keep[u] ? __popc(peers & ((1U << lane) - 1)) : -1;
for (int turn = 0; __any_sync(~0U, rank >= turn); ++turn) {
if (rank == turn) {
u64* const s = own + group * OWN;
)";

// For fmt::format: a warp for each group puts its copies together.
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
      merge_all(s, o, bad);
    }}
    fold_lanes(s, lane, bad, MergeAll());
    if (lane == 0) {{
      for (int k = 0; k < ALL; ++k) merged[g * ALL + k] = s[k];
    }}
  }}
  if (bad) *(int*)a.w[{trouble}] = 1;
}}
)";

// For fmt::format: the key's group by a hash table in device memory.
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
