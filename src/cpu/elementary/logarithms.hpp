// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/logarithms.hpp: log, log2, log10, log1p, asinh, acosh, atanh and power of the lanes of a register.
//
// x = 2^k·(1 + f) with 1 + f in 0.688 … 1.376. With s = f / (2 + f), log(1 + f) = 2 atanh(s) is a polynomial of s². The
// form f - (f²/2 - s·(f²/2 + R(s²))) loses no bits for small f. The logarithm in power needs 12 bits more than a
// double: a table of 128 entries makes f small.
// Include this header only in files that are compiled once per ISA.
#pragma once

#include "cpu/elementary/exponentials.hpp"

namespace upsweep::cpu {
namespace {

/// x = 2^k·m.
struct Decomposed {
  Lanes k;
  Lanes m;
  Bits biased;  ///< k + 1023
  Bits offset;  ///< of the mantissa of m from the smallest one
};

/// The upper bits of the smallest m: 0.688, and 181/256, where a bin of the table begins. In ulp, errors are largest at
/// the ends of the interval for k = 1 and -1, where much of k·ln 2 cancels. With 0.688 both ends have equal errors.
constexpr std::int64_t kSmallestBits = 0x3fe6041800000000;
constexpr std::int64_t kFirstBinBits = 0x3fe6a00000000000;

template <std::int64_t kSmallest>
UPSWEEP_INLINE Decomposed decompose(Lanes x) {
  const Bits moved = bits(x) + (kOneBits - kSmallest);
  const Bits biased = shifted_right(moved, 52);
  const Bits offset = moved & kMantissaBits;
  constexpr double kIntegers = 0x1p52;
  const Lanes k = value(biased | bits(all(kIntegers))) - (kIntegers + 1023);
  return {k, value(offset + kSmallest), biased, offset};
}

/// For subnormal lanes, x·2^54; the exponent is then too large by `excess`.
struct Normal {
  Lanes x;
  Lanes excess;
};
UPSWEEP_INLINE Normal normalized(Lanes x) {
  const Bits small = x < kSmallestNormal;
  return {select(small, x * 0x1p54, x), select(small, all(54), Lanes{})};
}

/// log(1 + f) = f - tail, for 1 + f in 0.688 … 1.376. Only the tail is rounded.
struct LogTail {
  Lanes s;
  Lanes tail;
};
template <class P>
UPSWEEP_INLINE LogTail log_tail(Lanes f) {
  const Lanes s = f / (2.0 + f);
  const Lanes z = s * s;
  const Lanes half_square = 0.5 * f * f;
  const Lanes rest = z * polynomial<P>(z, kLog, kLogFloat);
  return {s, half_square - s * (half_square + rest)};
}

/// The values of a logarithm at the ends of its range.
UPSWEEP_INLINE Lanes log_of_special(Lanes x, Lanes result) {
  result = select(x == 0.0, all(-kInfinity), result);
  result = select(x < 0.0, all(kNan), result);
  return select((x == kInfinity) | is_nan(x), x, result);
}

UPSWEEP_INLINE Bits is_positive_normal(Lanes x) { return (x >= kSmallestNormal) & (x < kInfinity); }

/// log(2^doublings·x).
template <class P, bool kAll>
UPSWEEP_INLINE Lanes log_of_multiple(Lanes x, double doublings) {
  const Normal normal = kAll ? normalized(x) : Normal{x, Lanes{}};
  const Decomposed d = decompose<kSmallestBits>(normal.x);
  const Lanes k = kAll ? d.k - normal.excess + doublings : d.k;
  const Lanes f = d.m - 1.0;
  const LogTail log = log_tail<P>(f);
  Lanes result;
  if constexpr (P::kFull) {
    const Parts most = ordered_sum(k * kLn2[0], f);
    result = most.hi + (most.lo - (log.tail - k * kLn2[1]));
  } else {
    result = k * kLn2Double + (f - log.tail);
  }
  return kAll ? log_of_special(x, result) : result;
}

struct Log {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    usual &= is_positive_normal(x);
    return log_of_multiple<P, kAll>(x, 0);
  }
};

/// k·unit + log(m)·inverse, of which the first parts have half the bits of a double.
template <class P, bool kAll>
UPSWEEP_INLINE Lanes log_in_base(Lanes x, const double (&unit)[2], const double (&inverse)[2], Bits& usual) {
  usual &= is_positive_normal(x);
  const Normal normal = kAll ? normalized(x) : Normal{x, Lanes{}};
  const Decomposed d = decompose<kSmallestBits>(normal.x);
  const Lanes k = kAll ? d.k - normal.excess : d.k;
  const Lanes f = d.m - 1.0;
  const LogTail log = log_tail<P>(f);
  const Lanes sum = f - log.tail;
  Lanes result;
  if constexpr (P::kFull) {
    const Lanes h = upper(sum);
    const Lanes rest = (f - h) - log.tail;
    const Parts most = ordered_sum(k * unit[0], h * inverse[0]);
    result = most.hi + (most.lo + (k * unit[1] + (rest * inverse[0] + sum * inverse[1])));
  } else {
    result = k * (unit[0] + unit[1]) + sum * (inverse[0] + inverse[1]);
  }
  return kAll ? log_of_special(x, result) : result;
}

struct Log2 {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    constexpr double kUnit[] = {1, 0};
    return log_in_base<P, kAll>(x, kUnit, kInverseLn2, usual);
  }
};

struct Log10 {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    return log_in_base<P, kAll>(x, kLog10Of2, kInverseLn10, usual);
  }
};

/// log(1 + x) for x.hi > -1 and below 2^1022.
template <class P>
UPSWEEP_INLINE Parts log_of_one_plus(Parts x) {
  const Parts sum = ordered_sum(all(1.0), x.hi);  // beyond 2^53 the second part has no effect
  const Decomposed d = decompose<kSmallestBits>(sum.hi);
  // Where 1 + x needs no power of two, f is x, which has more bits than 1 + x.
  const Bits direct = d.k == 0.0;
  const Lanes f = select(direct, x.hi, d.m - 1.0);
  const LogTail log = log_tail<P>(f);
  if constexpr (!P::kFull) return {d.k * kLn2Double + (f - log.tail), Lanes{}};
  const Lanes to_m = value((2 * kOneBits) - (d.biased << 52));  // 2^-k; 0 where the second part has no effect
  const Lanes f_lo = select(direct, x.lo, (sum.lo + x.lo) * to_m);
  // log(1 + f + f_lo) = log(1 + f) + f_lo / (1 + f), and 1 / (1 + f) is about 1 - 2s + 2s².
  const Lanes change = f_lo - f_lo * (2.0 * log.s * (1.0 - log.s));
  const Parts most = ordered_sum(d.k * kLn2[0], f);
  return {most.hi, most.lo + (change - (log.tail - d.k * kLn2[1]))};
}

constexpr double kSquareable = 0x1p500;

struct Log1p {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const Bits ordinary = (x > -1.0) & (x < kSquareable);
    usual &= ordinary;
    const Parts log = log_of_one_plus<P>({x, Lanes{}});
    const Lanes result = with_sign(log.hi + log.lo, sign_of(x));  // of -0.0
    if constexpr (!kAll) return result;
    const Lanes large = select(x > -1.0, log_of_multiple<P, true>(x, 0), all(kNan));
    const Lanes other = select(x == -1.0, all(-kInfinity), select(is_nan(x), x, large));
    return select(ordinary, result, other);
  }
};

struct Asinh {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const Lanes a = absolute(x);
    usual &= a < kSquareable;
    // asinh(a) = log(1 + f) with f = a + (√(1 + a²) - 1). The root is 1 and its second part if a is small.
    const Lanes b = kAll ? select(a < kSquareable, a, Lanes{}) : a;
    const Parts square = square_of<P>(b);
    Parts sum = ordered_sum(all(1.0), square.hi);
    sum.lo += square.lo;
    const Parts root = square_root<P>(sum);
    Parts f = ordered_sum(b, root.hi - 1.0);
    f.lo += root.lo;
    const Parts log = log_of_one_plus<P>(P::kFull ? f : Parts{f.hi, Lanes{}});
    Lanes result = log.hi + log.lo;
    // asinh is log(2a) for large a, infinity and NaN.
    if constexpr (kAll) result = select(a < kSquareable, result, log_of_multiple<P, true>(a, 1));
    return with_sign(result, sign_of(x));
  }
};

struct Acosh {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    usual &= (x >= 1.0) & (x < kSquareable);
    // acosh(x) = log(1 + f) with f = (x - 1) + √(x² - 1)
    const Lanes b = kAll ? select((x >= 1.0) & (x < kSquareable), x, all(1.0)) : x;
    const Parts square = square_of<P>(b);
    Parts less = ordered_sum(square.hi, all(-1.0));
    less = ordered_sum(less.hi, less.lo + square.lo);
    const Parts root = square_root<P>(less);
    const Parts less_one = ordered_sum(b, all(-1.0));
    Parts f = ordered_sum(root.hi, less_one.hi);
    f.lo += root.lo + less_one.lo;
    const Parts log = log_of_one_plus<P>(P::kFull ? f : Parts{f.hi, Lanes{}});
    Lanes result = log.hi + log.lo;
    if constexpr (kAll) {
      result = select(x < kSquareable, result, log_of_multiple<P, true>(x, 1));
      result = select(x < 1.0, all(kNan), result);
    }
    return result;
  }
};

struct Atanh {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const Lanes a = absolute(x);
    usual &= a < 1.0;
    // atanh(a) = log(1 + f) / 2 with f = 2a / (1 - a)
    const Lanes b = kAll ? select(a < 1.0, a, Lanes{}) : a;
    const Parts f = quotient<P>({b + b, Lanes{}}, ordered_sum(all(1.0), -b));
    const Parts log = log_of_one_plus<P>(f);
    Lanes result = 0.5 * (log.hi + log.lo);
    if constexpr (kAll) {
      result = select(a == 1.0, all(kInfinity), result);
      result = select(a > 1.0, all(kNan), result);
      result = select(is_nan(a), a, result);
    }
    return with_sign(result, sign_of(x));
  }
};

/// log(x) of positive normal numbers to about 2^-67 of it (2^-50 in precision Short).
template <class P>
UPSWEEP_INLINE Parts log_by_table(Lanes x, Lanes excess) {
  const Decomposed d = decompose<kFirstBinBits>(x);
  const Lanes k = d.k - excess;
  const Columns entry = look_up(kLogarithms, shifted_right(d.offset, 45));  // of 128
  const Lanes inverse = entry.column[0];
  const Lanes log_c = entry.column[1];
  if constexpr (!P::kFull) {
    const Lanes r = d.m * inverse - 1.0;
    return {k * kLn2Double + (log_c + (r - r * r * (0.5 - r * polynomial<P>(r, kLog1p, kLog1pFloat)))), Lanes{}};
  }
  // m/c - 1 exactly, as 1/c has 10 bits.
  const Lanes h = upper(d.m);
  const Parts r = ordered_sum(h * inverse - 1.0, (d.m - h) * inverse);
  const Lanes rh = upper(r.hi);
  const Lanes cube = r.hi * r.hi * r.hi * polynomial<P>(r.hi, kLog1p, kLog1pFloat);
  // k·ln 2 + log(c) + r - r²/2 + cube, of which the largest products are exact.
  const Parts first = ordered_sum(k * kLn2[0] + log_c, r.hi);
  const Parts second = ordered_sum(first.hi, -0.5 * rh * rh);
  const Lanes rest = (first.lo + second.lo) + (k * kLn2[1] + entry.column[2]) + (r.lo - r.lo * r.hi) +
                     (cube - 0.5 * (r.hi - rh) * (r.hi + rh));
  return ordered_sum(second.hi, rest);
}

/// exp(y·log(x)) for x > 0.
template <class P, bool kAll>
UPSWEEP_INLINE Lanes power_of_positive(Lanes x, Lanes excess, Lanes y, Bits& usual) {
  const Parts log = log_by_table<P>(x, excess);
  if constexpr (!P::kFull) return exp_of<P, kAll>({y * log.hi, Lanes{}}, usual);
  const Parts product = product_of(y, log.hi);
  return exp_of<P, kAll>({product.hi, product.lo + y * log.lo}, usual);
}

UPSWEEP_INLINE Bits is_integer(Lanes y) { return round_even(y) == y; }

/// Gives the power of |x| the sign that it has for x: that of x if y is odd.
UPSWEEP_INLINE Lanes with_sign_of_power(Lanes power, Lanes x, Lanes y) {
  const Lanes half = 0.5 * y;
  const Bits odd = is_integer(y) & (round_even(half) != half) & (absolute(y) < 0x1p53);
  return with_sign(power, sign_of(x) & odd);
}

struct Power {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Lanes y, Bits& usual) {
    const Lanes a = absolute(x);
    if constexpr (!kAll) {
      usual &= is_positive_normal(a);
      const Lanes power = power_of_positive<P, false>(a, Lanes{}, y, usual);
      if (!is_any_sign_set(x)) return power;
      return select((x < 0.0) & ~is_integer(y), all(kNan), with_sign_of_power(power, x, y));
    }
    const Bits ordinary = (a > 0.0) & (a < kInfinity);
    const Normal normal = normalized(select(ordinary, a, all(1.0)));
    // Beyond 2^65, y·log(x) is above 800 unless x is 1. A smaller y keeps all products finite.
    const Lanes limited = at_least(at_most(y, 0x1p65), -0x1p65);
    Lanes result = power_of_positive<P, true>(normal.x, normal.excess, limited, usual);
    const Bits is_y_infinite = absolute(y) == kInfinity;
    const Bits grows = ~((a > 1.0) ^ (y > 0.0));  // for infinite y, and for zero and infinite x
    result = select(~ordinary | is_y_infinite, select(grows, all(kInfinity), Lanes{}), result);
    result = with_sign_of_power(result, x, y);
    result = select((x < 0.0) & ordinary & ~is_integer(y), all(kNan), result);
    result = select((a == 1.0) & is_y_infinite, all(1.0), result);
    result = select(is_nan(y), y, result);
    result = select(is_nan(x), x, result);
    return select((y == 0.0) | (x == 1.0), all(1.0), result);
  }
};

}  // namespace
}  // namespace upsweep::cpu
