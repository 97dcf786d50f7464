// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/arcs.hpp: atan, atan2, asin and acos of the lanes of a register.
//
// The arc tangent of a ratio is a multiple of π/4 and the arc tangent of a ratio below tan(π/8). That ratio is the
// inverse, or the difference of both terms divided by their sum. asin above 1/2 uses asin of a square root.
// Include this header only in files that are compiled once per ISA.
#pragma once

#include "cpu/elementary/coefficients.hpp"
#include "cpu/elementary/lanes.hpp"

namespace upsweep::cpu {
namespace {

/// The angle of a point with coordinates from 0 to 2^600, which are not both 0; where `left` is set, π minus it.
template <class P>
UPSWEEP_INLINE Lanes angle_of(Lanes y, Lanes x, Bits left) {
  const Bits steep = y > x;
  const Lanes small = select(steep, x, y);
  const Lanes large = select(steep, y, x);
  // ratio > tan(π/8): atan(ratio) = π/4 + atan((ratio - 1) / (ratio + 1))
  const Bits middle = small > large * kTanPiOver8;
  Parts n{small, Lanes{}};
  Parts d{large, Lanes{}};
  if constexpr (P::kFull) {
    const Parts difference = ordered_sum(-large, small);
    const Parts sum = ordered_sum(large, small);
    n = {select(middle, difference.hi, n.hi), select(middle, difference.lo, n.lo)};
    d = {select(middle, sum.hi, d.hi), select(middle, sum.lo, d.lo)};
  } else {
    n.hi = select(middle, small - large, small);
    d.hi = select(middle, small + large, large);
  }
  const Parts t = quotient<P>(n, d);
  const Lanes z = t.hi * t.hi;
  const Lanes tail = t.hi * z * polynomial<P>(z, kAtan, kAtanFloat);
  // The angle is base ± (t + tail), with base in multiples of π/4.
  Lanes base = select(middle, all(1.0), Lanes{});
  base = select(steep, 2.0 - base, base);
  base = select(left, 4.0 - base, base);
  const Bits negative = (steep ^ left) & kSignBit64;
  const Lanes signed_t = value(bits(t.hi) ^ negative);
  const Lanes signed_tail = value(bits(P::kFull ? t.lo + tail : tail) ^ negative);
  if constexpr (!P::kFull) return base * kPiOver4Double + (signed_t + signed_tail);
  const Parts most = ordered_sum(base * kPiOver4[0], signed_t);
  return most.hi + (most.lo + (base * kPiOver4[1] + signed_tail));
}

struct Atan {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    const Lanes a = at_most(absolute(x), 0x1p500);  // from 2^54 on, the value is π/2
    return with_sign(angle_of<P>(a, all(1.0), Bits{}), sign_of(x));
  }
};

struct Atan2 {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes y, Lanes x, Bits& usual) {
    Lanes ay = absolute(y);
    Lanes ax = absolute(x);
    const Bits left = -(Bits)((Register<std::uint64_t>)bits(x) >> 63);
    constexpr double kSmallest = 0x1p-400;
    constexpr double kLargest = 0x1p400;
    const Bits ordinary = (ay >= kSmallest) & (ay < kLargest) & (ax >= kSmallest) & (ax < kLargest);
    usual &= ordinary;
    if constexpr (!kAll) return with_sign(angle_of<P>(ay, ax, left), sign_of(y));
    // Both are infinite: the angle is that of (1, 1). Otherwise both are scaled, and moved to the range where the
    // angle is what it is at infinity.
    const Bits both_infinite = (ay == kInfinity) & (ax == kInfinity);
    const Bits large = ~ordinary & ((ay >= kLargest) | (ax >= kLargest));
    const Bits tiny = ~ordinary & ~large;
    const Lanes factor = select(large, all(0x1p-600), select(tiny, all(0x1p700), all(1.0)));
    Lanes sy = select(both_infinite, all(1.0), at_most(ay * factor, 0x1p600));
    Lanes sx = select(both_infinite, all(1.0), at_most(ax * factor, 0x1p600));
    // A ratio that is below 2^-100: the angle is the ratio, of numbers that are not scaled, if x is positive.
    const Bits flat = ~ordinary & (sy < sx * 0x1p-100);
    const Bits origin = (ay == 0.0) & (ax == 0.0);
    sx = select(origin, all(1.0), sx);
    const Lanes angle = angle_of<P>(select(flat, Lanes{}, sy), sx, left);
    Lanes result = select(flat & ~left, ay / select(origin, all(1.0), ax), angle);
    result = with_sign(result, sign_of(y));
    result = select(is_nan(x), x, result);
    return select(is_nan(y), y, result);
  }
};

struct Asin {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    const Lanes a = absolute(x);
    const Bits large = a > 0.5;
    // asin(a) = π/2 - 2 asin(√((1 - a) / 2)). Beyond 1 the root is NaN.
    const Lanes half = 0.5 * (1.0 - a);  // exact where it is used
    const Lanes z = select(large, half, a * a);
    const Parts root = square_root<P>({half, Lanes{}});
    const Lanes s = select(large, root.hi, a);
    Lanes tail = s * z * polynomial<P>(z, kAsin, kAsinFloat);
    if constexpr (!P::kFull) return with_sign(select(large, kPiOver2[0] - 2.0 * (s + tail), s + tail), sign_of(x));
    tail = tail + select(large, root.lo, Lanes{});
    const Lanes factor = select(large, all(-2.0), all(1.0));
    const Parts most = ordered_sum(select(large, all(kPiOver2[0]), Lanes{}), factor * s);
    const Lanes result = most.hi + (most.lo + (select(large, all(kPiOver2[1]), Lanes{}) + factor * tail));
    return with_sign(result, sign_of(x));
  }
};

struct Acos {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    const Lanes a = absolute(x);
    const Bits large = a > 0.5;
    const Bits negative = x < 0.0;
    const Lanes half = 0.5 * (1.0 - a);
    const Lanes z = select(large, half, a * a);
    const Parts root = square_root<P>({half, Lanes{}});
    const Lanes s = select(large, root.hi, x);
    Lanes tail = s * z * polynomial<P>(z, kAsin, kAsinFloat);
    // π/2 - asin(x); 2 asin(√((1 - x) / 2)); of negative x, π minus that of -x
    const Lanes factor = select(large, select(negative, all(-2.0), all(2.0)), all(-1.0));
    const Lanes base = select(large, select(negative, all(kPi[0]), Lanes{}), all(kPiOver2[0]));
    if constexpr (!P::kFull) return base + factor * (s + tail);
    const Lanes base_lo = select(large, select(negative, all(kPi[1]), Lanes{}), all(kPiOver2[1]));
    tail = tail + select(large, root.lo, Lanes{});
    const Parts most = ordered_sum(base, factor * s);
    return most.hi + (most.lo + (base_lo + factor * tail));
  }
};

}  // namespace
}  // namespace upsweep::cpu
