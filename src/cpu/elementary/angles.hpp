// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/angles.hpp: sin, cos and tan of the lanes of a register.
//
// x = k·π/2 + r with |r| <= π/4. Up to 2^13, π/2 is a sum of three parts, after Cody and Waite. Products of k with the
// first two are exact. Larger arguments are multiplied by 2/π in integers of 256 bits, after Payne and Hanek (1983).
// The few arguments that are very near to a multiple of π/2 are also: there three parts have too few bits.
// Include this header only in files that are compiled once per ISA.
#pragma once

#include "cpu/elementary/coefficients.hpp"
#include "cpu/elementary/lanes.hpp"

namespace upsweep::cpu {
namespace {

/// a = quarter·π/2 + r + lo. The lowest two bits of `quarter` matter.
struct ReducedByHalfPi {
  Lanes r;
  Lanes lo;
  Bits quarter;
};

__extension__ using UInt128 = unsigned __int128;

/// The reduction of one number of at least 1/2, exact to 100 bits. Infinity and NaN: r is NaN.
[[gnu::noinline]] void reduce_by_half_pi_exactly(double a, double* r, double* lo, std::int64_t* quarter) {
  const auto pattern = __builtin_bit_cast(std::int64_t, a);
  const int exponent = static_cast<int>(pattern >> 52) - 1075;  // a = mantissa·2^exponent
  const auto mantissa = static_cast<std::uint64_t>((pattern & kMantissaBits) | (kMantissaBits + 1));
  if (exponent > 971) {
    *r = kNan;
    *lo = 0;
    *quarter = 0;
    return;
  }
  // Bits of 2/π that count for multiples of 4 or more are left out: `first` is the position of the first other bit.
  // The window of 256 bits is 2/π·2^(first + 256) modulo 2^256; bits before the binary point are 0.
  const int first = exponent - 2;  // the bit with the weight 2^-(first + 1)
  std::uint64_t window[4];
  for (int i = 0; i < 4; ++i) {
    const int at = first + 64 * i;
    const auto word = [](int index) { return index < 0 ? 0 : kTwoOverPi[index]; };
    const int index = at >= 0 ? at / 64 : -((-at + 63) / 64);
    const int shift = at - 64 * index;
    window[i] = shift == 0 ? word(index) : (word(index) << shift) | (word(index + 1) >> (64 - shift));
  }
  // The product modulo 2^256: its first two bits are the quarter, the others the fraction of a quarter.
  std::uint64_t product[4];
  std::uint64_t carry = 0;
  for (int i = 3; i >= 0; --i) {
    const UInt128 sum = UInt128{window[i]} * mantissa + carry;
    product[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  std::int64_t count = static_cast<std::int64_t>(product[0] >> 62);
  // Fraction in 192 bits: of them at most 62 are leading zeros for any double.
  UInt128 high = (UInt128{product[0]} << 64) | product[1];
  std::uint64_t low = product[2];
  high = (high << 2) | (low >> 62);
  low = (low << 2) | (product[3] >> 62);
  const bool negative = (high >> 127) != 0;  // the nearest multiple is the next one
  if (negative) {
    ++count;
    low = ~low;
    high = ~high;
  }
  int zeros = 0;
  while ((high >> 127) == 0 && zeros < 127) {
    high = (high << 1) | (low >> 63);
    low <<= 1;
    ++zeros;
  }
  // The first 53 bits, and the next 53.
  const double scale = __builtin_bit_cast(double, (std::int64_t{1023} - zeros) << 52);
  const double first_part = static_cast<double>(static_cast<std::int64_t>(high >> 75)) * (scale * 0x1p-53);
  const auto next = static_cast<std::int64_t>((high >> 22) & ((UInt128{1} << 53) - 1));
  const double second_part = static_cast<double>(next) * (scale * 0x1p-106);
  // Times π/2, in two parts.
  constexpr std::int64_t kUpperBits = ~((std::int64_t{1} << 27) - 1);
  const auto upper_of = [](double x) {
    return __builtin_bit_cast(double, __builtin_bit_cast(std::int64_t, x) & kUpperBits);
  };
  const double p = first_part * kPiOver2[0];
  const double fh = upper_of(first_part);
  const double fl = first_part - fh;
  const double ph = upper_of(kPiOver2[0]);
  const double pl = kPiOver2[0] - ph;
  const double p_lo = ((fh * ph - p) + (fh * pl + fl * ph)) + fl * pl;
  const double rest = p_lo + (first_part * kPiOver2[1] + second_part * kPiOver2[0]);
  const double sum = p + rest;
  const double sum_lo = (p - sum) + rest;
  *r = negative ? -sum : sum;
  *lo = negative ? -sum_lo : sum_lo;
  *quarter = count;
}

template <class P, bool kAll>
UPSWEEP_INLINE ReducedByHalfPi reduce_by_half_pi(Lanes a, Bits& usual) {
  constexpr double kLargest = 0x1p13;
  const Lanes rounded = a * kOneOverHalfPi + kRounder;
  const Lanes k = rounded - kRounder;
  const Lanes most = a - k * kHalfPi[0];  // exact
  const Lanes next = k * kHalfPi[1];      // exact
  ReducedByHalfPi reduced{most - next, Lanes{}, bits(rounded)};
  if constexpr (P::kFull) reduced.lo = ((most - reduced.r) - next) - k * kHalfPi[2];
  // Where r is at least 2^-38·k, `most` exceeds `next`, and the error is below 2^-90 of r.
  const Bits exact = (a <= kLargest) & (absolute(reduced.r) >= k * 0x1p-38);
  usual &= exact;
  if constexpr (kAll) {
    for (int i = 0; i < kDoubles; ++i) {
      if (exact[i] != 0) continue;
      double r = 0;
      double lo = 0;
      std::int64_t quarter = 0;
      reduce_by_half_pi_exactly(a[i], &r, &lo, &quarter);
      reduced.r[i] = r;
      reduced.lo[i] = P::kFull ? lo : 0;
      reduced.quarter[i] = quarter;
    }
  }
  return reduced;
}

/// sin(r + lo) as r + tail.
template <class P>
UPSWEEP_INLINE Lanes sin_tail(Lanes r, Lanes lo, Lanes z) {
  const Lanes cube = r * z * polynomial<P>(z, kSin, kSinFloat);
  return P::kFull ? cube + lo * (1.0 - 0.5 * z) : cube;
}

/// cos(r + lo) as most + tail.
struct Cosine {
  Lanes most;
  Lanes tail;
};
template <class P>
UPSWEEP_INLINE Cosine cosine(Lanes r, Lanes lo, Lanes z) {
  const Lanes half = 0.5 * z;
  const Lanes most = 1.0 - half;
  const Lanes power = z * z * polynomial<P>(z, kCos, kCosFloat);
  return {most, P::kFull ? ((1.0 - most) - half) + (power - r * lo) : power};
}

/// The sine of quarter·π/2 + r + lo.
template <class P>
UPSWEEP_INLINE Lanes sine_of(const ReducedByHalfPi& reduced, Bits quarter) {
  const Lanes z = reduced.r * reduced.r;
  const Lanes sine = reduced.r + sin_tail<P>(reduced.r, reduced.lo, z);
  const Cosine c = cosine<P>(reduced.r, reduced.lo, z);
  const Lanes chosen = select_odd(quarter, c.most + c.tail, sine);
  return value(bits(chosen) ^ ((quarter & 2) << 62));
}

struct Sin {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const ReducedByHalfPi reduced = reduce_by_half_pi<P, kAll>(absolute(x), usual);
    return value(bits(sine_of<P>(reduced, reduced.quarter)) ^ sign_of(x));
  }
};

struct Cos {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const ReducedByHalfPi reduced = reduce_by_half_pi<P, kAll>(absolute(x), usual);
    return sine_of<P>(reduced, reduced.quarter + 1);
  }
};

struct Tan {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const ReducedByHalfPi reduced = reduce_by_half_pi<P, kAll>(absolute(x), usual);
    const Parts square = square_of<P>(reduced.r);
    const Lanes z = square.hi;
    Parts s = ordered_sum(reduced.r, sin_tail<P>(reduced.r, reduced.lo, z));
    const Cosine cos = cosine<P>(reduced.r, reduced.lo, z);
    Parts c = ordered_sum(cos.most, P::kFull ? cos.tail - 0.5 * square.lo : cos.tail);
    if constexpr (!P::kFull) s.lo = c.lo = Lanes{};
    // tan(r + π/2) = -1 / tan(r)
    const Bits odd = reduced.quarter;
    const Parts numerator{select_odd(odd, c.hi, s.hi), select_odd(odd, c.lo, s.lo)};
    const Parts denominator{select_odd(odd, s.hi, c.hi), select_odd(odd, s.lo, c.lo)};
    const Lanes result = quotient<P>(numerator, denominator).hi;
    return value(bits(result) ^ sign_of(x) ^ ((odd & 1) << 63));
  }
};

}  // namespace
}  // namespace upsweep::cpu
