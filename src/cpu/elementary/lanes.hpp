// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/lanes.hpp: doubles in the lanes of a register: selections, bits, sums and products in two parts.
//
// Only additions, multiplications, divisions and square roots that IEEE 754 rounds, and operations on bits: every
// instruction set computes the same bits. Nothing here uses a fused multiply-add.
// Include this header only in files that are compiled once per ISA (see cpu/simd.hpp).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "cpu/simd.hpp"

namespace upsweep::cpu {
namespace {

/// Doubles, and their bits. A comparison of doubles is a Bits, with all bits of a lane equal: a mask.
using Lanes = Register<double>;
using Bits = Register<std::int64_t>;
constexpr int kDoubles = kRegisterLanes<double>;
#if UPSWEEP_REGISTER_BYTES == 64
constexpr __mmask8 kEveryLane = 0xFF;  // of intrinsics without a mask, GCC 12 warns that an operand is undefined
#endif

constexpr std::int64_t kSignBit64 = INT64_MIN;
constexpr std::int64_t kMantissaBits = (std::int64_t{1} << 52) - 1;
constexpr std::int64_t kOneBits = std::int64_t{1023} << 52;
constexpr double kInfinity = __builtin_inf();
constexpr double kNan = __builtin_nan("");
constexpr double kSmallestNormal = 0x1p-1022;

UPSWEEP_INLINE Bits bits(Lanes x) { return (Bits)x; }
UPSWEEP_INLINE Lanes value(Bits b) { return (Lanes)b; }
UPSWEEP_INLINE Lanes all(double x) { return x - Lanes{}; }

UPSWEEP_INLINE bool is_every_lane_set(Bits mask) {
#if UPSWEEP_REGISTER_BYTES == 64
  return _mm512_movepi64_mask((__m512i)mask) == 0xFF;
#elif UPSWEEP_REGISTER_BYTES == 32
  return _mm256_movemask_pd((__m256d)mask) == 0xF;
#else
  return _mm_movemask_pd((__m128d)mask) == 0x3;
#endif
}

UPSWEEP_INLINE bool is_any_sign_set(Lanes x) {
#if UPSWEEP_REGISTER_BYTES == 64
  return _mm512_movepi64_mask((__m512i)x) != 0;
#elif UPSWEEP_REGISTER_BYTES == 32
  return _mm256_movemask_pd(x) != 0;
#else
  return _mm_movemask_pd(x) != 0;
#endif
}

/// Returns a where the mask is set, otherwise b.
UPSWEEP_INLINE Lanes select(Bits mask, Lanes a, Lanes b) {
#if UPSWEEP_REGISTER_BYTES == 64
  return _mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), b, a);
#elif UPSWEEP_REGISTER_BYTES == 32
  return _mm256_blendv_pd(b, a, (__m256d)mask);
#else
  return value((bits(a) & mask) | (bits(b) & ~mask));
#endif
}

/// Returns a where the lowest bit is set, otherwise b.
UPSWEEP_INLINE Lanes select_odd(Bits number, Lanes a, Lanes b) { return select(-(number & 1), a, b); }

UPSWEEP_INLINE Lanes square_root(Lanes x) {
#if UPSWEEP_REGISTER_BYTES == 64
  return _mm512_maskz_sqrt_pd(kEveryLane, x);
#elif UPSWEEP_REGISTER_BYTES == 32
  return _mm256_sqrt_pd(x);
#else
  return _mm_sqrt_pd(x);
#endif
}

/// The first three columns of rows of a table.
struct Columns {
  Lanes column[3];
};

/// Lane i is from row index[i]. Whole rows are loaded and transposed, which is faster than to gather each column.
UPSWEEP_INLINE Columns look_up(const double (*table)[4], Bits index) {
#if UPSWEEP_REGISTER_BYTES == 16
  const __m128d a = _mm_load_pd(table[index[0]]);
  const __m128d b = _mm_load_pd(table[index[1]]);
  const __m128d a2 = _mm_load_pd(table[index[0]] + 2);
  const __m128d b2 = _mm_load_pd(table[index[1]] + 2);
  return {{_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b), _mm_unpacklo_pd(a2, b2)}};
#else
  const auto transposed = [&](int first) {
    const __m256d a = _mm256_load_pd(table[index[first]]);
    const __m256d b = _mm256_load_pd(table[index[first + 1]]);
    const __m256d c = _mm256_load_pd(table[index[first + 2]]);
    const __m256d d = _mm256_load_pd(table[index[first + 3]]);
    const __m256d ab = _mm256_unpacklo_pd(a, b);
    const __m256d cd = _mm256_unpacklo_pd(c, d);
    const __m256d ab2 = _mm256_unpackhi_pd(a, b);
    const __m256d cd2 = _mm256_unpackhi_pd(c, d);
    constexpr int kLow = 0x20;
    constexpr int kHigh = 0x31;
    struct {
      __m256d column[3];
    } columns = {{_mm256_permute2f128_pd(ab, cd, kLow), _mm256_permute2f128_pd(ab2, cd2, kLow),
                  _mm256_permute2f128_pd(ab, cd, kHigh)}};
    return columns;
  };
  const auto low = transposed(0);
#if UPSWEEP_REGISTER_BYTES == 32
  return {{low.column[0], low.column[1], low.column[2]}};
#else
  const auto high = transposed(4);
  const auto joined = [&](int i) {
    return _mm512_maskz_insertf64x4(kEveryLane, _mm512_castpd256_pd512(low.column[i]), high.column[i], 1);
  };
  return {{joined(0), joined(1), joined(2)}};
#endif
#endif
}

UPSWEEP_INLINE Lanes absolute(Lanes x) { return value(bits(x) & ~kSignBit64); }
UPSWEEP_INLINE Bits sign_of(Lanes x) { return bits(x) & kSignBit64; }
/// Returns x, at least 0, with this sign.
UPSWEEP_INLINE Lanes with_sign(Lanes x, Bits sign) { return value(bits(x) | sign); }
UPSWEEP_INLINE Bits is_nan(Lanes x) { return x != x; }
/// NaN stays NaN.
UPSWEEP_INLINE Lanes at_most(Lanes x, double limit) { return select(x > limit, all(limit), x); }
UPSWEEP_INLINE Lanes at_least(Lanes x, double limit) { return select(x < limit, all(limit), x); }

/// Adding it rounds a double below 2^51 to an integer, in the low bits of the sum.
constexpr double kRounder = 0x1.8p52;

/// The nearest integer; of two, the even one.
UPSWEEP_INLINE Lanes round_even(Lanes x) {
  constexpr double kIntegers = 0x1p52;  // and beyond it, every double is one
  const Lanes a = absolute(x);
  return select(a < kIntegers, with_sign((a + kIntegers) - kIntegers, sign_of(x)), x);
}

UPSWEEP_INLINE Bits shifted_right(Bits b, int distance) { return (Bits)((Register<std::uint64_t>)b >> distance); }

/// kDoubles floats.
typedef float Narrow __attribute__((vector_size(kRegisterBytes / 2)));
typedef float UnalignedNarrow __attribute__((vector_size(kRegisterBytes / 2), aligned(1), may_alias));

UPSWEEP_INLINE Lanes widened(Narrow x) {
#if UPSWEEP_REGISTER_BYTES == 64
  return _mm512_maskz_cvtps_pd(kEveryLane, x);
#elif UPSWEEP_REGISTER_BYTES == 32
  return _mm256_cvtps_pd(x);
#else
  return __builtin_convertvector(x, Lanes);
#endif
}

UPSWEEP_INLINE Narrow narrowed(Lanes x) {
#if UPSWEEP_REGISTER_BYTES == 64
  return _mm512_maskz_cvtpd_ps(kEveryLane, x);
#elif UPSWEEP_REGISTER_BYTES == 32
  return _mm256_cvtpd_ps(x);
#else
  return __builtin_convertvector(x, Narrow);
#endif
}

/// 2^k for an integer k in -1022 … 1023, given as k + kRounder; 0 for k = -1023.
UPSWEEP_INLINE Lanes power_of_two(Bits rounded) { return value((rounded << 52) + kOneBits); }

/// Σ c[i]·x^i, by Estrin's scheme: halves are summed apart, which shortens the longest chain of operations. A CPU
/// overlaps only few iterations of such loops, so the length of this chain determines the time. powers[i] is x^(2^i).
template <int kCount>
UPSWEEP_INLINE Lanes estrin(const Lanes* powers, const double* c) {
  if constexpr (kCount == 1) {
    return all(c[0]);
  } else if constexpr (kCount == 2) {
    return c[0] + c[1] * powers[0];
  } else {
    constexpr int kPower = kCount > 8 ? 3 : kCount > 4 ? 2 : 1;
    constexpr int kHalf = 1 << kPower;
    return estrin<kHalf>(powers, c) + powers[kPower] * estrin<kCount - kHalf>(powers, c + kHalf);
  }
}

template <std::size_t kCount>
UPSWEEP_INLINE Lanes polynomial(Lanes x, const double (&c)[kCount]) {
  static_assert(kCount >= 2 && kCount <= 16);
  Lanes powers[4] = {x};
  for (int i = 1; i < 4; ++i) powers[i] = powers[i - 1] * powers[i - 1];
  return estrin<int{kCount}>(powers, c);
}

/// The precision of a function: of its result, as computations are always in double.
struct Full {  ///< float64
  static constexpr bool kFull = true;
};
struct Short {  ///< float32: shorter polynomials, and no second parts
  static constexpr bool kFull = false;
};

/// Σ c[i]·x^i, with the coefficients for the precision P.
template <class P, std::size_t kCount, std::size_t kShort>
UPSWEEP_INLINE Lanes polynomial(Lanes x, const double (&full)[kCount], const double (&shorter)[kShort]) {
  if constexpr (P::kFull) {
    return polynomial(x, full);
  } else {
    return polynomial(x, shorter);
  }
}

// ------------------------------------------------------------------------------------------------ numbers in two parts
// A number hi + lo, where lo is below an ulp of hi. In precision Short, lo is 0, and the compiler removes it.

struct Parts {
  Lanes hi;
  Lanes lo;
};

/// a + b exactly, if a is a multiple of the last place of b (Dekker 1971; Boldo, Graillat, Muller 2017). This is so if
/// |a| >= |b|, if a is 0, and if a has few bits.
UPSWEEP_INLINE Parts ordered_sum(Lanes a, Lanes b) {
  const Lanes hi = a + b;
  return {hi, (a - hi) + b};
}

/// The upper 26 bits. The rest has 27 bits: the product of two upper parts is exact, and of an upper part with a rest.
UPSWEEP_INLINE Lanes upper(Lanes x) { return value(bits(x) & ~((std::int64_t{1} << 27) - 1)); }

/// x², but for some ulps of the second part.
template <class P>
UPSWEEP_INLINE Parts square_of(Lanes x) {
  const Lanes hi = x * x;
  if constexpr (!P::kFull) return {hi, Lanes{}};
  const Lanes h = upper(x);
  return {hi, (h * h - hi) + (x - h) * (x + h)};
}

/// a·b, but for some ulps of the second part (after Dekker 1971).
UPSWEEP_INLINE Parts product_of(Lanes a, Lanes b) {
  const Lanes hi = a * b;
  const Lanes ah = upper(a);
  const Lanes bh = upper(b);
  const Lanes al = a - ah;
  const Lanes bl = b - bh;
  return {hi, ((ah * bh - hi) + (ah * bl + al * bh)) + al * bl};
}

/// a / b. A quotient of 26 bits has an exact product with either half of b; the rest is divided again.
template <class P>
UPSWEEP_INLINE Parts quotient(Parts a, Parts b) {
  if constexpr (!P::kFull) return {a.hi / b.hi, Lanes{}};
  const Lanes inverse = 1.0 / b.hi;
  const Lanes q = upper(a.hi * inverse);
  const Lanes h = upper(b.hi);
  const Lanes rest = ((a.hi - q * h) - q * (b.hi - h)) + (a.lo - q * b.lo);
  return ordered_sum(q, rest * inverse);
}

/// √a, for a that is above 0 and not below 2^-900; 0 for 0.
template <class P>
UPSWEEP_INLINE Parts square_root(Parts a) {
  const Lanes root = square_root(a.hi);
  if constexpr (!P::kFull) return {root, Lanes{}};
  const Lanes h = upper(root);
  const Lanes rest = ((a.hi - h * h) - (root - h) * (root + h)) + a.lo;
  return {root, rest * (0.5 / (root + 0x1p-500))};  // the last number is for 0 only
}

}  // namespace
}  // namespace upsweep::cpu
