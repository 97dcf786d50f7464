// SPDX-License-Identifier: Apache-2.0
// plan/cuda_prelude.hpp: the part of the CUDA code that all plans share.
#pragma once

namespace upsweep::plan::detail {

/// The beginning of the code. Constants that depend on the plan follow it, and then kCudaPrelude.
inline constexpr const char* kCudaTypes = R"text(
typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef float f32; typedef double f64;
#ifndef DEVICE
#define DEVICE static __device__ __forceinline__
#define CONSTANT __grid_constant__  // its address may be taken without a copy
#define FUNCTION static __device__ __noinline__
// Eight blocks on a multiprocessor: more registers for each took up to 1.4 times as long.
#define KERNEL(threads) extern "C" __global__ __launch_bounds__(threads, 8) void
#define SHARED_ARENA extern __shared__ __align__(16) char shared_arena[];
// A thread has few elements. Loops that are unrolled take three times as long to compile.
#define EACH _Pragma("unroll 1") for
#define sync() __syncthreads()
#define any_thread(x) __syncthreads_or(x)
#endif
)text";

/// Functions. The generated functions `attempt` and `flush` follow them, and then kCudaKernel.
inline constexpr const char* kCudaPrelude = R"text(
struct Words { u64 w[kWords]; };
enum { kFine, kTooLarge, kBadLists, kCheck };
// Reports the least value: its complement is the greatest.
DEVICE void trouble(const Words& a, int which, i64 value) { atomicMax((u64*)a.w[kTrouble] + which, ~(u64)value); }
DEVICE int bad_lists(const Words& a, i64 near) {
  trouble(a, 2, near);
  return kBadLists;
}

// The memory that the threads of a block share besides the arrays of its events.
struct Team {
  i64 sums[32];
  i64 base[kCounters], done[kCounters];
  i64 made[kCounters];  // by the current attempt
  i32 posted[kCounters], known[kCounters];
  i64 longest[2 * kDomains];  // lengths of attempts, and of those of one event
  i64 binned;  // elements counted in shared memory since it was set to 0
  i64 ticket;
  i32 is_large, is_single;  // the current attempt: whether its arrays are in the arena, and whether it is one event
};

template <class T> DEVICE T number(u64 bits) { T x; memcpy(&x, &bits, sizeof x); return x; }

// ---- scans and searches

// The sum of x of the threads before this one; sets `sum` to that of all.
DEVICE i64 exclusive(Team& t, i64 x, i64& sum) {
  const int lane = threadIdx.x & 31;
  i64 upto = x;
  for (int d = 1; d < 32; d *= 2) {
    const i64 other = __shfl_up_sync(~0u, upto, d);
    if (lane >= d) upto += other;
  }
  sync();
  if (lane == 31) t.sums[threadIdx.x >> 5] = upto;
  sync();
  i64 before = 0, all = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    const i64 of = t.sums[w];
    if (w < (int)(threadIdx.x >> 5)) before += of;
    all += of;
  }
  sum = all;
  return before + upto - x;
}

// A length as int32. One that does not fit becomes more than any capacity.
DEVICE i32 as_length(i64 length) { return length < 0x7fffffff ? (i32)length : 0x7fffffff; }

// x[i] <- the sum of x[0] ... x[i - 1], for n lengths, and x[n]. Returns the latter.
FUNCTION i64 scan(Team& t, i32 n, i32* x) {
  sync();
  i64 total = 0;
  for (i32 begin = 0; begin < n; begin += kThreads) {
    const i32 i = begin + (i32)threadIdx.x;
    i64 sum;
    const i64 before = exclusive(t, i < n ? x[i] : 0, sum);
    if (i < n) x[i] = (i32)(total + before);
    total += sum;
  }
  if (threadIdx.x == 0) x[n] = (i32)total;
  return total;
}

// places <- the positions of true elements, up to the capacity. before[i] <- their number before i, and before[n].
// Either may be null. Returns their number.
FUNCTION i64 filter(Team& t, i32 n, const u8* mask, i32* places, i64 capacity, i32* before) {
  i64 kept = 0;
  for (i32 begin = 0; begin < n; begin += kThreads) {
    const i32 i = begin + (i32)threadIdx.x;
    const bool keep = i < n && mask[i] != 0;
    i64 sum;
    const i64 at = kept + exclusive(t, keep ? 1 : 0, sum);
    if (before && i < n) before[i] = (i32)at;
    if (places && keep && at < capacity) places[at] = i;
    kept += sum;
  }
  if (before && threadIdx.x == 0) before[n] = (i32)kept;
  return kept;
}

// The list that element i belongs to: the last one that begins at or before it.
FUNCTION i32 list_of(const i32* offsets, i32 lists, i32 i) {
  i32 low = 0, high = lists;
  while (high - low > 1) {
    const i32 middle = (low + high) / 2;
    if (offsets[middle] <= i) low = middle; else high = middle;
  }
  return low;
}

// ---- elements

template <class T> DEVICE T clamped(const T* x, i64 at, i64 length) {
  if (length == 0) return T(0);
  return x[at < 0 ? 0 : at < length ? at : length - 1];
}

template <class T> DEVICE T floor_divide_integers(T x, T y) {
  if (y == 0) return 0;
  if (T(-1) < T(0)) {
    if (y == T(-1)) return (T)(0 - (u64)x);
    const T quotient = (T)(x / y);
    return (T)(quotient - (((T)(quotient * y) != x && (x < 0) != (y < 0)) ? 1 : 0));
  }
  return (T)(x / y);
}
template <class T> DEVICE T fmod_integers(T x, T y) {
  if (y == 0 || (T(-1) < T(0) && y == T(-1))) return 0;
  return (T)(x % y);
}
template <class T> DEVICE T remainder_integers(T x, T y) {
  const T rest = fmod_integers(x, y);
  if (T(-1) < T(0) && rest != 0 && (rest < 0) != (y < 0)) return (T)(rest + y);
  return rest;
}
template <class T> FUNCTION T power_integers(T x, T y) {
  if (T(-1) < T(0) && y < 0) return 0;
  u64 result = 1, base = (u64)x;
  for (u64 rest = (u64)y; rest != 0; rest >>= 1) {
    if (rest & 1) result *= base;
    base *= base;
  }
  return (T)result;
}
// For |x| < 2y, x - y * floor(x / y) has the same bits: see plan/kernels.cpp.
template <class T> FUNCTION T slow_remainder(T x, T y) {
  const T rest = fmod(x, y);
  if (y == 0) return rest;
  if (rest == 0) return copysign(T(0), y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
template <class T> DEVICE T remainder_floats(T x, T y) {
  const T most = sizeof(T) == 4 ? T(1e30f) : T(1e300), least = sizeof(T) == 4 ? T(1e-30f) : T(1e-300);
  const T quotient = x / y;
  if (y > 0 && y < most && fabs(x) < 2 * y && (fabs(quotient) > least || x == 0)) return x - y * floor(quotient);
  return slow_remainder(x, y);
}
template <class T> FUNCTION T floor_divide_floats(T x, T y) {
  const T rest = fmod(x, y);
  if (y == 0) return x / y;
  T quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return copysign(T(0), x / y);
  T rounded = floor(quotient);
  if (quotient - rounded > T(0.5)) rounded += 1;
  return rounded;
}
template <class To, class T> DEVICE To integer_of_float(T x, bool is_signed, int bits, To lowest) {
  const T end = (T)ldexp(1.0, is_signed ? bits - 1 : bits);
  const bool is_below = x < end;
  bool is_above = x > T(-1);
  if (is_signed) is_above = bits < (int)sizeof(T) * 6 ? x > -end - 1 : x >= -end;
  return is_below && is_above ? (To)x : lowest;
}
template <class T> FUNCTION i64 searched(T x, const T* table, i64 length, bool right) {
  i64 begin = 0;
  for (i64 count = length; count > 0;) {
    const i64 half = count / 2;
    const T e = table[begin + half];
    const bool precedes = right ? x != x || !(x < e || e != e) : e < x || (x != x && e == e);
    if (precedes) begin += half + 1, count -= half + 1; else count = half;
  }
  return begin;
}

// ---- histograms

struct Axis { i64 stride, count, has_top, start, stop; double low, width, bins, top; };

DEVICE i64 bin_regular(double x, const Axis* b) {
  const double z = (x - b->low) / b->width;
  return ((i64)(z < 1 ? z >= 0 ? z * b->bins : -1.0 : z == 1 ? b->top : b->bins) + 1) * b->stride;
}
DEVICE i64 bin_integer_of_floats(double x, const Axis* b) {
  const double z = x - b->low;
  return ((i64)(z < b->bins ? z >= 0 ? z : -1.0 : b->bins) + 1) * b->stride;
}
DEVICE i64 bin_integer(i64 x, const Axis* b) {
  return (x < b->stop ? x < b->start ? 0 : x - b->start + 1 : b->stop - b->start + 1) * b->stride;
}
// The number of elements of an ascending table that are not greater than x, where NaN exceeds all.
template <class T> FUNCTION i64 upto(const T* table, i64 count, T x) {
  i64 found = 0;
  while (count > 0) {
    const i64 half = (count + 1) / 2;
    if (!(x < table[found + half - 1])) found += half;
    count -= half;
  }
  return found;
}
DEVICE i64 bin_edges(double x, const Axis* b) {
  const double* const edges = (const double*)(b + 1);
  const i64 top = b->has_top && x == edges[b->count - 1] ? 1 : 0;
  return (upto(edges, b->count, x) - top) * b->stride;
}
DEVICE i64 bin_category(i64 x, const Axis* b) {
  const i64* const values = (const i64*)(b + 1);
  const i64 found = upto(values, b->count, x);
  return (found > 0 && values[found - 1] == x ? values[b->count + found - 1] : b->count) * b->stride;
}

// Adds the counts of a block of threads to those of the run.
FUNCTION void flush_counts(char* counts, u64 at, u64* cells, i64 count) {
  if (at == ~(u64)0) return;
  const u32* const counted = (const u32*)(counts + at);
  for (i64 i = threadIdx.x; i < count; i += kThreads) {
    if (counted[i] != 0) atomicAdd(cells + i, (u64)counted[i]);
  }
}

// Adds x to a sum that depends on no order: see plan/cuda_source.hpp.
FUNCTION void add_exactly(u64* digits, double x) {
  u64 bits;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = (int)(bits >> 52 & 2047);
  u64 mantissa = bits & (((u64)1 << 52) - 1);
  const bool is_negative = bits >> 63 != 0;
  if (exponent == 2047) {
    atomicAdd(digits + kDigits + (mantissa != 0 ? 2 : is_negative ? 1 : 0), (u64)1);
    return;
  }
  if (exponent > 0) mantissa |= (u64)1 << 52;
  const int bit = exponent > 0 ? exponent - 1 : 0;  // of the mantissa's lowest bit
  const int digit = bit / kDigitBits, shift = bit % kDigitBits;
  const u64 low = mantissa << shift, high = shift > 0 ? mantissa >> (64 - shift) : 0;
  constexpr u64 kMask = ((u64)1 << kDigitBits) - 1;
  const u64 parts[3] = {low & kMask, low >> kDigitBits & kMask, low >> 2 * kDigitBits | high << (64 - 2 * kDigitBits)};
  for (int i = 0; i < 3; ++i) {
    if (parts[i] != 0) atomicAdd(digits + digit + i, is_negative ? 0 - parts[i] : parts[i]);
  }
}
DEVICE void add_weight(u64* cells, i64 cell, double weight) {
  u64* const sums = cells + cell * (2 * kSumWords);
  add_exactly(sums, weight), add_exactly(sums + kSumWords, weight * weight);
}

// ---- tuples

FUNCTION i64 tuple_count(i64 length, int k, bool replacement) {
  if (replacement && length > 0) length += k - 1;
  double most = 1;
  i64 count = 1;
  for (int i = 0; i < k; ++i) {
    if (length <= i) return 0;
    most = most * (double)(length - i) / (i + 1);
    if (most > 1e9 * 4) return (i64)1 << 32;
    count = count * (length - i) / (i + 1);
  }
  return count;
}

// Member `member` of tuple number `rank` of the list that begins at `first`.
FUNCTION i32 tuple_member(i32 first, i64 length, int k, bool replacement, int member, i64 rank) {
  const i64 skip = replacement ? 0 : 1;
  i64 at = 0;
  for (int m = 0;; ++m) {
    const int rest = k - 1 - m;
    if (rest == 0) at += rank;
    else for (;; ++at) {
      const i64 count = tuple_count(length - at - skip, rest, replacement);
      if (rank < count) break;
      rank -= count;
    }
    if (m == member) return first + (i32)at;
    at += skip;
  }
}

// ---- the place of a block's outputs

DEVICE u64 state_of(volatile u64* states, i64 block, int c) { return states[block * kCounters + c]; }

// The number of elements of counter c before this attempt.
FUNCTION i64 place_of(Team& t, volatile u64* states, int c, i64 block, bool is_whole, i64 length) {
  const bool is_known = t.known[c] != 0;
  sync();
  if (threadIdx.x < 32 && !is_known) {
    const int lane = threadIdx.x;
    if (lane == 0 && is_whole && !t.posted[c]) states[block * kCounters + c] = (u64)1 << 62 | (u64)length;
    i64 sum = 0;
    for (i64 last = block - 1; last >= 0; last -= 32) {
      const i64 b = last - lane;
      u64 s = (u64)2 << 62;
      if (b >= 0) while (((s = state_of(states, b, c)) >> 62) == 0) {}
      const unsigned ends = __ballot_sync(~0u, (s >> 62) == 2);
      const int stop = ends ? __ffs(ends) - 1 : 31;
      i64 x = lane <= stop ? (i64)(s & (((u64)1 << 62) - 1)) : 0;
      for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
      sum += x;
      if (ends) break;
    }
    if (lane == 0) {
      t.base[c] = sum, t.known[c] = 1;
      if (is_whole && !t.posted[c]) states[block * kCounters + c] = (u64)2 << 62 | (u64)(sum + length), t.posted[c] = 1;
    }
  }
  if (threadIdx.x == 0) t.made[c] = length;
  sync();
  return t.base[c] + t.done[c];
}
)text";

/// The kernel.
inline constexpr const char* kCudaKernel = R"text(
KERNEL(kThreads) plan(const CONSTANT Words a) {
  SHARED_ARENA
  __shared__ Team t;
  char* const large_arena = (char*)a.w[kArena] + blockIdx.x * a.w[kArenaBytes];
  const i64 events = (i64)a.w[kEvents], blocks = (i64)a.w[kBlocks], most = (i64)a.w[kEventsPerBlock];
  if (threadIdx.x == 0) t.binned = 0;
  for (int d = threadIdx.x; d < 2 * kDomains; d += kThreads) t.longest[d] = 0;
  clear_counts(a, shared_arena);
  for (;;) {
    sync();
    if (threadIdx.x == 0) t.ticket = (i64)atomicAdd((u64*)a.w[kTickets], (u64)1);
    for (int c = threadIdx.x; c < kCounters; c += kThreads) t.base[c] = t.done[c] = 0, t.posted[c] = t.known[c] = 0;
    sync();
    const i64 block = t.ticket;
    if (block >= blocks) break;
    const i64 first = block * most, end = first + most < events ? first + most : events;
    const u64 failed = ~*(volatile u64*)a.w[kTrouble];
    const bool is_over = failed >> 16 < (u64)first;  // a check of an earlier event failed
    bool is_large = a.w[kIsLarge] != 0;
    i64 size = end - first;
    for (i64 begin = first; begin < end && !any_thread(is_over);) {
      const i64 n = size < end - begin ? size : end - begin;
      if (threadIdx.x == 0) t.is_large = is_large, t.is_single = n == 1;
      sync();
      char* const arena = is_large ? large_arena : shared_arena;
      const int result = attempt(a, t, arena, shared_arena, block, begin, (i32)n, n == end - first);
      sync();
      if (result != kTooLarge) is_large = a.w[kIsLarge] != 0;
      if (result == kFine) {
        for (int c = threadIdx.x; c < kCounters; c += kThreads) t.done[c] += t.made[c];
        begin += n;
      } else if (result == kBadLists) {
        begin = end;
      } else if (n > 1) {
        size = n / 2;
        if (threadIdx.x == 0) atomicAdd((u64*)a.w[kTrouble] + 3, (u64)1);
      } else if (result == kTooLarge && !is_large && a.w[kArena] != 0) {
        is_large = true;
      } else if (result == kTooLarge) {
        if (threadIdx.x == 0) trouble(a, 1, begin);
        is_large = a.w[kIsLarge] != 0;
        begin += 1;  // the others say how much memory they need
      } else {
        if (threadIdx.x == 0) trouble(a, 0, begin << 16 | (i64)(result - kCheck));
        begin = end;
      }
      sync();
      if (t.binned > 0x7fffffff) {
        flush(a, shared_arena);
        sync();
        if (threadIdx.x == 0) t.binned = 0;
        clear_counts(a, shared_arena);
        sync();
      }
    }
    // The blocks that follow wait for the counters of this one.
    if (threadIdx.x == 0) {
      for (int c = 0; c < kCounters; ++c) {
        if (block == blocks - 1) ((i64*)a.w[kTotals])[c] = t.base[c] + t.done[c];
        if (t.posted[c]) continue;
        const u64 flag = t.known[c] ? (u64)2 << 62 : (u64)1 << 62;
        ((volatile u64*)a.w[kStates])[block * kCounters + c] = flag | (u64)((t.known[c] ? t.base[c] : 0) + t.done[c]);
      }
    }
  }
  sync();
  flush(a, shared_arena);
  for (int d = threadIdx.x; d < 2 * kDomains; d += kThreads) atomicMax((i64*)a.w[kLengths] + d, t.longest[d]);
}
)text";

}  // namespace upsweep::plan::detail
