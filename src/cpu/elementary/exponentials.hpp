// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/exponentials.hpp: exp, exp2, expm1, sinh, cosh and tanh of the lanes of a register.
//
// x = k·ln 2 + r with |r| <= ln 2 / 2, after Cody and Waite. A polynomial gives the function of r; powers of two are
// bits. Every function is a struct with value_of<P, kAll>(x, usual). Without kAll, it clears the lanes of `usual` whose
// values may be wrong. With kAll, every lane is right. A usual lane has the same bits with both.
// Include this header only in files that are compiled once per ISA.
#pragma once

#include "cpu/elementary/coefficients.hpp"
#include "cpu/elementary/lanes.hpp"

namespace upsweep::cpu {
namespace {

/// x = k·ln 2 + r + lo.
struct ReducedByLn2 {
  Lanes r;
  Lanes lo;
  Lanes k;
  Bits rounded;  ///< k + kRounder
};

template <class P>
UPSWEEP_INLINE ReducedByLn2 reduce_by_ln2(Lanes x, Lanes x_lo) {
  const Lanes rounded = x * kOneOverLn2 + kRounder;
  const Lanes k = rounded - kRounder;
  const Lanes most = x - k * kLn2[0];  // exact
  const Lanes rest = k * kLn2[1] - x_lo;
  const Lanes r = most - rest;
  return {r, P::kFull ? (most - r) - rest : Lanes{}, k, bits(rounded)};
}

/// exp(r + lo) for |r| <= ln 2 / 2.
template <class P>
UPSWEEP_INLINE Lanes exp_of_reduced(Lanes r, Lanes lo) {
  const Lanes tail = r * r * polynomial<P>(r, kExp, kExpFloat);
  if constexpr (!P::kFull) return 1.0 + (r + tail);
  const Parts most = ordered_sum(all(1.0), r);
  return most.hi + ((most.lo + lo) + tail);
}

/// p·2^k for 0.5 < p < 2. Without kAll the result must be normal. With kAll |k| may be 2000.
template <bool kAll>
UPSWEEP_INLINE Lanes scale(Lanes p, Bits rounded) {
  if constexpr (!kAll) return value(bits(p) + (rounded << 52));
  const Lanes k = value(rounded) - kRounder;
  const Lanes half = k * 0.5 + kRounder;
  const Lanes rest = (k - (half - kRounder)) + kRounder;
  return p * power_of_two(bits(half)) * power_of_two(bits(rest));
}

constexpr double kExpNormal = 708;  ///< exp(±708) is normal
constexpr double kExpLimit = 800;   ///< exp(±800) is infinite, or rounds to 0

/// exp(x + lo); the second part may be 0.
template <class P, bool kAll>
UPSWEEP_INLINE Lanes exp_of(Parts x, Bits& usual) {
  usual &= absolute(x.hi) < kExpNormal;
  const Lanes hi = kAll ? at_least(at_most(x.hi, kExpLimit), -kExpLimit) : x.hi;
  const Lanes lo = kAll ? select(hi == x.hi, x.lo, Lanes{}) : x.lo;
  const ReducedByLn2 reduced = reduce_by_ln2<P>(hi, lo);
  return scale<kAll>(exp_of_reduced<P>(reduced.r, reduced.lo), reduced.rounded);
}

struct Exp {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    return exp_of<P, kAll>({x, Lanes{}}, usual);
  }
};

struct Exp2 {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    usual &= absolute(x) < 1021;
    const Lanes within = kAll ? at_least(at_most(x, 1200), -1200) : x;
    const Lanes rounded = within + kRounder;
    const Lanes part = within - (rounded - kRounder);  // exact
    Parts r{part * kLn2Double, Lanes{}};
    if constexpr (P::kFull) {
      const Lanes h = upper(part);
      r.lo =
          ((h * kLn2Halves[0] - r.hi) + ((part - h) * kLn2Halves[0] + h * kLn2Halves[1])) + (part - h) * kLn2Halves[1];
    }
    return scale<kAll>(exp_of_reduced<P>(r.hi, r.lo), bits(rounded));
  }
};

struct Expm1 {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    usual &= absolute(x) < kExpNormal;
    const Lanes within = kAll ? at_least(at_most(x, kExpNormal), -kExpNormal) : x;
    const ReducedByLn2 reduced = reduce_by_ln2<P>(within, Lanes{});
    const Lanes r = reduced.r;
    const Lanes power = power_of_two(reduced.rounded);
    // 2^k·(1 + r + r²/2 + tail) - 1. If k is 0, 2^k - 1 is 0. Otherwise it is at least 2^k·r.
    const Lanes less_one = power - 1.0;
    const Lanes tail = r * r * r * polynomial<P>(r, kExpm1, kExpm1Float);
    Lanes result;
    if constexpr (P::kFull) {
      const Lanes missing = (power - less_one) - 1.0;
      const Parts first = ordered_sum(less_one, power * r);
      const Lanes h = upper(r);
      const Parts second = ordered_sum(first.hi, power * (0.5 * h * h));
      const Lanes rest = (0.5 * (r - h)) * (r + h) + (reduced.lo + r * reduced.lo);
      result = second.hi + (((first.lo + missing) + second.lo) + power * (rest + tail));
    } else {
      result = less_one + power * (r + (0.5 * r * r + tail));
    }
    if constexpr (kAll) result = select(x > kExpNormal, exp_of<P, true>({x, Lanes{}}, usual), result);
    return with_sign(result, sign_of(x));  // of -0.0
  }
};

/// sinh and cosh of x = k·ln 2 + r from those of k·ln 2, which are sums of powers of two, and of r.
struct Hyperbolic {
  Lanes r;
  Lanes sinh_tail;  ///< sinh(r) - r
  Lanes cosh_tail;  ///< cosh(r) - 1
  Lanes up;         ///< 2^(k-1)
  Lanes down;       ///< 2^-(k+1)
  Bits is_k_zero;
};

UPSWEEP_INLINE Hyperbolic hyperbolic(Lanes x) {
  const ReducedByLn2 reduced = reduce_by_ln2<Full>(x, Lanes{});
  const Lanes r = reduced.r;
  const Lanes z = r * r;
  const Bits exponent = reduced.rounded << 52;
  constexpr std::int64_t kHalfBits = kOneBits - (std::int64_t{1} << 52);
  return {r,
          reduced.lo + r * z * polynomial(z, kSinh),
          r * reduced.lo + z * polynomial(z, kCosh),
          value(kHalfBits + exponent),
          value(kHalfBits - exponent),
          reduced.k == 0.0};
}

/// sinh(x) = cosh(k ln 2)·sinh(r) + sinh(k ln 2)·cosh(r).
UPSWEEP_INLINE Parts sinh_parts(const Hyperbolic& h) {
  const Lanes sinh_k = h.up - h.down;
  const Lanes cosh_k = h.up + h.down;
  const Lanes missing = (h.up - sinh_k) - h.down;  // of sinh_k, if |k| is 27 or more
  // cosh_k·r = most·r + rest·r, and most·r is exact. If k is 0, rest is 0.
  const Lanes most = select(h.is_k_zero, all(1.0), h.up);
  const Parts sum = ordered_sum(sinh_k, most * h.r);
  return {sum.hi, (sum.lo + missing) + ((cosh_k - most) * h.r + (sinh_k * h.cosh_tail + cosh_k * h.sinh_tail))};
}

/// cosh(x) = cosh(k ln 2)·cosh(r) + sinh(k ln 2)·sinh(r).
UPSWEEP_INLINE Parts cosh_parts(const Hyperbolic& h) {
  const Lanes sinh_k = h.up - h.down;
  const Lanes cosh_k = h.up + h.down;
  const Lanes missing = (h.up - cosh_k) + h.down;
  const Lanes most = select(h.is_k_zero, Lanes{}, h.up);
  const Parts sum = ordered_sum(cosh_k, most * h.r);
  return {sum.hi, (sum.lo + missing) + ((sinh_k - most) * h.r + (cosh_k * h.cosh_tail + sinh_k * h.sinh_tail))};
}

/// exp(a) / 2 for a >= 708, where exp(a) may be infinite and its half not.
UPSWEEP_INLINE Lanes half_exp(Lanes a) {
  const ReducedByLn2 reduced = reduce_by_ln2<Full>(at_most(a, kExpLimit), Lanes{});
  return scale<true>(exp_of_reduced<Full>(reduced.r, reduced.lo), reduced.rounded - 1);
}

/// A double has 29 bits more than a float. In precision Short these allow for cancellation: sinh and tanh are computed
/// from exp(a). Below this argument, they are a.
constexpr double kShortLinear = 0x1p-14;

/// exp(a) for a >= 0, in precision Short. Beyond 200, the functions of floats are at their limits.
UPSWEEP_INLINE Lanes short_exp(Lanes a) {
  const ReducedByLn2 reduced = reduce_by_ln2<Short>(at_most(a, 200), Lanes{});
  const Lanes r = reduced.r;
  // The error of this polynomial is small compared with r, not only with 1.
  const Lanes tail = r * r * (0.5 + r * polynomial(r, kExpm1Float));
  return scale<false>(1.0 + (r + tail), reduced.rounded);
}

struct Sinh {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const Lanes a = absolute(x);
    if constexpr (!P::kFull) {
      const Lanes e = short_exp(a);
      return with_sign(select(a < kShortLinear, a, 0.5 * (e - 1.0 / e)), sign_of(x));
    }
    usual &= a < kExpNormal;
    const Parts sum = sinh_parts(hyperbolic(kAll ? at_most(a, kExpNormal) : a));
    Lanes result = sum.hi + sum.lo;
    if constexpr (kAll) result = select(a > kExpNormal, half_exp(a), result);
    return with_sign(result, sign_of(x));
  }
};

struct Cosh {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const Lanes a = absolute(x);
    if constexpr (!P::kFull) {
      const Lanes e = short_exp(a);
      return 0.5 * (e + 1.0 / e);
    }
    usual &= a < kExpNormal;
    const Parts sum = cosh_parts(hyperbolic(kAll ? at_most(a, kExpNormal) : a));
    Lanes result = sum.hi + sum.lo;
    if constexpr (kAll) result = select(a > kExpNormal, half_exp(a), result);
    return result;
  }
};

struct Tanh {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    if constexpr (!P::kFull) {
      const Lanes e = short_exp(2.0 * absolute(x));
      return with_sign(select(absolute(x) < kShortLinear, absolute(x), (e - 1.0) / (e + 1.0)), sign_of(x));
    }
    const Lanes a = at_most(absolute(x), 30);  // tanh(30) rounds to 1
    const Hyperbolic h = hyperbolic(a);
    const Parts sinh = sinh_parts(h);
    const Parts cosh = cosh_parts(h);
    // tanh(a) = sinh(a) / cosh(a) = 1 - exp(-a) / cosh(a): the second form has no error to speak of for large a.
    const Bits large = a > 2.0;
    const Lanes inverse_exp = (h.down + h.down) * (1.0 + (h.cosh_tail - (h.r + h.sinh_tail)));
    const Parts numerator = ordered_sum(select(large, inverse_exp, sinh.hi), select(large, Lanes{}, sinh.lo));
    const Lanes q = quotient<P>(numerator, ordered_sum(cosh.hi, cosh.lo)).hi;
    return with_sign(select(large, 1.0 - q, q), sign_of(x));
  }
};

}  // namespace
}  // namespace upsweep::cpu
